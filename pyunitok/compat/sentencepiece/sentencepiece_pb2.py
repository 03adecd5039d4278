"""Replaces sentencepiece.sentencepiece_pb2, which defines the messages of encoded text."""

from pyunitok.compat.sentencepiece.messages import text_message

SentencePieceText = text_message("SentencePieceText", "string")
NBestSentencePieceText = text_message("NBestSentencePieceText", "string")
