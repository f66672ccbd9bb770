"""Reading what others wrote: JSON, TOML, YAML, tables and packed files, each within limits.

The only place that parses. What is nested too deeply, or has numbers or unpacks without end, is refused at
once, by a `ParseError` whose message is a part of a sentence; callers say which file it was.

- `documents`: `read_json` and `read_toml`
- `yaml_text`: `read_yaml`
- `tables`: rows of CSV
- `parquet`: rows of Parquet files
- `arrays`: numpy's arrays, as archives hold them
- `gguf`: weights of language models
- `files`: a file's bytes, and what packed ones unpack to
- `archives`: the members of ZIP archives
- `limits`: `ParseError`, the limits, and the check of a value that another parser made
- `messages`: what may be shown of strange text, and counts in words
"""
