"""LLMs that are asked for responses, as ``llms.toml`` describes them.

- `config`: the file; `settings`: the keys of its tables
- `asking`: all of them at once, until everything is answered or nothing more can be
- `tally`: what came of it; `progress`: the line that changes meanwhile; `ending`: what is said at the end
- `reply`: what an LLM answers, or why it does not
- `endpoint`: an OpenAI-compatible server; `endpoint_errors` what goes wrong there,
  `pace` how fast it is asked
- `local`: a model run by transformers; `vllm_local`: one run by vLLM in this process
"""
