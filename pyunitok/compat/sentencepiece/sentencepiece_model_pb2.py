"""Replaces sentencepiece.sentencepiece_model_pb2, which defines the messages of model files."""

from pyunitok.compat.sentencepiece.messages import model_message

ModelProto = model_message("ModelProto")
TrainerSpec = model_message("TrainerSpec")
NormalizerSpec = model_message("NormalizerSpec")
