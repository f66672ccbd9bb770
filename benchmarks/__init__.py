"""Measurements, each a command that prints one table: ``python -m benchmarks.NAME`` (docs/measurements.md).

- `live_rescore`, `first_paint`, `felt_waits`, `topic_map`: how long a person waits
- `layout_shift`: what jumps meanwhile
- `load`, `soak`, `session_memory`: what many visitors wait for, and what the server keeps of them
- `reliability`: how well it is foretold how often the embedded judge is right under a criterion
- `change_profile`: which parts of the app a change of criteria keeps busy
- `faults`: visitors served while something is killed, damaged, full, set back or away
- `rank_stored`: the command `rank` on a large stored benchmark, from start to table
- `topic_names`: names of topics without an LLM, as a reader judged each
- `collection_run`: what collecting from a server with faults costs, and whether anything is asked twice
- `score_popular`, `clustering`, `ray_engine`, `scaling_plan`: how long offline jobs take
- `default_ranking`, `length_control`: rankings against AlpacaEval's official ones
- `held_to_votes`: the default ranking of current LLMs against people's votes
- `sparse_ranking`: rankings of LLMs that answered different queries, against the simulated truth
- `wish_readings`, `odd_wishes`, `limit_readings`, `long_wishes`, `refused_wishes`, `everyday_wishes`,
  `gold_rankings`, `graded_llms`: is what people type understood, left out where no text shows it, and ranked
  as a careful reader would?
- `style_wishes`: is the assistant first that a wish was made for, by any judge?
- `training_size`, `long_responses`, `gaming`: how good the embedded judge is, and how far it can be gamed
- `simulated_users`, `history_checklists`, `plain_habits`, `people_by_others`, `per_category`: how well a
  person's criteria are learnt; `prefdisco`: by interviews of people who want other things in other contexts
- `corrected_by_votes`: what a person's votes do to the judge's ranking
- `real_people`: are people's later choices foretold better by their criteria than by votes?
- `malformed_inputs`: is every malformed file refused in a sentence, in time and within memory?
- `prefix_order`: what a vLLM server's prefix cache saves, by the order in which prompts are sent
- `packing`: how fast training reads prompts that are padded, grouped by length, or packed into rows
- `gpu`: on a machine with a GPU, memory and throughput of training and judging
- `same_answers`, `house_size`: two checkouts of the code compared
- `pictures`: no measurement; makes the README's pictures from the running app (``make pictures``)
- `transcripts`: no measurement; makes `docs/transcripts.md` from the running API and tools
- `contact_sheet`: no measurement; draws every page and tab at four widths, light and dark, to be looked at
"""
