"""Parts of the pages, each drawing into the page that calls it.

- `session`: the pages' list, the service, the view of this session and the link that carries it
- `ahead`: what a server does before anybody comes
- `first_page`: what the server puts into the page that the browser loads first: style, code of charts
- `security`: what browsers are told that pages may do; `kept_files`: how much visitors may send
- `turns`: how many pages are drawn at a time; `part`: what of a page is drawn alone after a change in it;
  `arenas`: how memory of threads is kept and given back
- `server_log`: what is logged of pages and of the server
- `criteria_editor`, `requirements`, `topic_choice`: what a person asks for, in the view
- `criteria_lists`: which list of criteria is edited, the common one or a topic's
- `coach`: what broad criteria may mean, and two answers that differ in one
- `elicitation`, `checklist`: criteria found by choices and questions, and edited; `clarifying`: which it was;
  `free_interview`: an interview in words
- `answer`: the answer over a ranking, the ways to criteria; `reach`: links that jump, the answer said aloud
- `three_answers`: three LLMs' answers to one question; `live_answers`: to one of the person's own
- `taste_test`: a ranking tested blind; `corrected`: a ranking corrected by the person's votes
- `live_ranking`, `ranking_tabs`, `saved_views`: a ranking while a judge works, its tabs, views to compare
- `grades`: grades by criterion, which a judge of texts gives if it is asked to
- `share`: a view as link, text, picture, frame and citation; what the frame shows
- `listing`: filters, order and cost of the LLMs that are listed
- `agreement`, `critique`: how two judges agree; an LLM's critique of a response
- `topic_map`, `curation`: the topics of queries, and their change by an administrator
- `uploads`, `profile`, `admin`: data of one's own, a profile under a private link, signing in
"""
