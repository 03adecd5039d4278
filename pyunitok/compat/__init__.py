"""Stand-ins for the Python packages of other tokenizers: code written for them runs by changing its import.

    bytepiece      Tokenizer, normalize, convert_to_bytepiece
    sentencepiece  SentencePieceProcessor and its friends
    rwkv           RWKV_TOKENIZER, TRIE_TOKENIZER, RWKVTokenizer
"""
