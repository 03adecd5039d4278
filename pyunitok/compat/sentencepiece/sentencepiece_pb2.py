"""The messages of encoded text, as in sentencepiece's module of this name."""

from pyunitok.compat.sentencepiece.messages import text_message

SentencePieceText = text_message("SentencePieceText", "string")
NBestSentencePieceText = text_message("NBestSentencePieceText", "string")
