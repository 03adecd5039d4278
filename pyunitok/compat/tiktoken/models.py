"""Maps the names of OpenAI's models to their encodings."""

from __future__ import annotations

# encoding: the names of models
_MODELS = {
    "o200k_base": ("o1", "o3", "o4-mini", "gpt-5", "gpt-4.1", "gpt-4o"),
    "cl100k_base": (
        "gpt-4", "gpt-3.5-turbo", "gpt-3.5", "gpt-35-turbo", "davinci-002", "babbage-002", "text-embedding-ada-002",
        "text-embedding-3-small", "text-embedding-3-large",
    ),
    "p50k_base": (
        "text-davinci-003", "text-davinci-002", "code-davinci-002", "code-davinci-001", "code-cushman-002",
        "code-cushman-001", "davinci-codex", "cushman-codex",
    ),
    "p50k_edit": ("text-davinci-edit-001", "code-davinci-edit-001"),
    "r50k_base": (
        "text-davinci-001", "text-curie-001", "text-babbage-001", "text-ada-001", "davinci", "curie", "babbage", "ada",
        *(f"text-similarity-{name}-001" for name in ("davinci", "curie", "babbage", "ada")),
        *(f"text-search-{name}-doc-001" for name in ("davinci", "curie", "babbage", "ada")),
        "code-search-babbage-code-001", "code-search-ada-code-001",
    ),
    "gpt2": ("gpt2", "gpt-2"),
}  # fmt: skip
MODEL_TO_ENCODING = {model: encoding for encoding, models in _MODELS.items() for model in models}
# Prefixes of names; the first match is used.
MODEL_PREFIX_TO_ENCODING = {
    **dict.fromkeys(
        ("o1-", "o3-", "o4-mini-", "gpt-5", "gpt-4.5-", "gpt-4.1-", "chatgpt-4o-", "gpt-4o-"), "o200k_base"
    ),
    **dict.fromkeys(("gpt-4-", "gpt-3.5-turbo-", "gpt-35-turbo-"), "cl100k_base"),
    "gpt-oss-": "o200k_harmony",
    "ft:gpt-4o": "o200k_base",
    **dict.fromkeys(("ft:gpt-4", "ft:gpt-3.5-turbo", "ft:davinci-002", "ft:babbage-002"), "cl100k_base"),
}


def encoding_name_for_model(model_name: str) -> str:
    """The name of the encoding of a model. Raises KeyError for an unknown model."""
    if model_name in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model_name]
    for prefix, name in MODEL_PREFIX_TO_ENCODING.items():
        if model_name.startswith(prefix):
            return name
    raise KeyError(f"there is no known encoding for the model {model_name}; choose one with get_encoding()")
