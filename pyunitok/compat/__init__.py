"""Contains drop-in replacements for the Python packages of other tokenizers: only the import changes.

    bytepiece      Tokenizer, Trainer, normalize, convert_to_bytepiece
    sentencepiece  SentencePieceProcessor, SentencePieceTrainer, SentencePieceNormalizer
    rwkv           RWKV_TOKENIZER, TRIE_TOKENIZER, RWKVTokenizer
    tiktoken       Encoding, get_encoding, encoding_for_model
"""
