"""The messages of model files, as in sentencepiece's module of this name."""

from pyunitok.compat.sentencepiece.messages import model_message

ModelProto = model_message("ModelProto")
TrainerSpec = model_message("TrainerSpec")
NormalizerSpec = model_message("NormalizerSpec")
