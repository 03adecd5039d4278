"""Stand-ins for the Python packages of other tokenizers: code written for them runs by changing its import.

    sentencepiece  SentencePieceProcessor and its friends
    rwkv           RWKV_TOKENIZER, TRIE_TOKENIZER, RWKVTokenizer
"""
