"""From a person's view to a ranking of LLMs for them, without Streamlit.

- `view`: what a person chose, as a value that a link carries; `selection`: which queries that means
- `request`: a view with what it names looked up; `judged`: what is judged; `result`: what a page shows of it
- `several_wishes`: a line that lists several criteria; `coach`: what a broad one may mean, and examples
- `reading`: how the judge reads a criterion; `amounts`: how much there is of what criteria count
- `service`: from a view to a leaderboard, joining this with `db` and `crm`
- `benchmark`: a stored benchmark as a judge sees it; `stored_arrays`: what is stored of its responses
- `cache`: results kept in memory; `kept_results`: which of them, and how much
- `scored`: what a ranking rests on
- `scoring_jobs`: slow judges at work; `live_ranking`: what there is of their leaderboards so far
- `statistics`: win rates, intervals and rankings as pure functions on arrays
- `answer`: a ranking as an answer in a few sentences: who, why, how reliable, what would change it
- `three_answers`: one question with answers that show the difference; `live_answers`: one of the person's own
- `robustness`: what is significant in a view's ranking, and what its top depends on
- `listed`: the LLMs of a ranking that pass a view's filters; `offers`: what they cost for what they are worth
- `ranked`: all of that of a view, as command lines and programs are given it
- `compare`: several views side by side; `alignment`: how well each LLM meets each criterion;
  `live_grades`: a slow judge's work on that; `grades_command`: a command that writes it
- `explain`: behind one LLM's rank; `critique`: an LLM's critique and edit of a response;
  `critique_scores`: what its scores come to; `many_critiques`: of many responses of one LLM
- `coach_llm`: what broad wishes may mean, in an LLM's words
- `asked_now`: one thing asked of an LLM while somebody waits
- `query_checklists`: a checklist for each query, written by an LLM from past choices
- `rubrics`: responses graded by an LLM under rubrics that it wrote for the criteria
- `llm_facts`: who makes LLMs, what they cost, how people rate them
- `judges`: evaluations side by side, and how two judges' rankings agree
- `elicitation`: a person's criteria learnt from choices, an interview or their history
- `topics`: topics of query pools, and their curation
- `user_data`: uploads of a session, profiles, the admin token
- `render`: figures, tables and texts for pages; `sentences`: what is written about a ranking
- `export`: rankings and comparisons as CSV and JSON, and CSV back to ranks; `win_rates`: a command that
  writes those of many criteria lists
- `citation`: how a view is cited
- `print_format`: how command lines print; `file_formats`: a leaderboard as a file of any format;
  `every_eval_ever`: that of a shared schema of results
- `limits`: what one visitor may make the server do, and all together
- `logs`: what is logged for programs to read
- `errors`: what can go wrong, each message one sentence that says how to fix it
"""
