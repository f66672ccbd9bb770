"""Learns a person's criteria from their choices between responses.

    library    the criteria that choices are explained by
    material   how every response of a benchmark stands under each of them
    choice     what a person answers, and how likely a person with given weights would
    person     what is known of a person's weights: the posterior
    pairs      which two responses to show next
    questions  what an interview may ask
    interview  which question to ask next, and what an answer tells
    checklist  the posterior as Essential, Important and Optional lines, with their evidence
    standing   what the posterior says of the ranking, and how sure that is
    source     what of a stored benchmark may be shown
    course     a person's choices and replies so far, with undo: what a page holds
    replies    what was answered in the interview, and which lines it speaks for
    course_checklist  the checklist of a course: what was said outright, and what the choices tell
    question_wording, interviewer  questions worded by an LLM for a person's topics
    wording    sentences on what was learnt

    From choices made elsewhere (docs/history.md):
    history            past choices, and which of them can be learnt from
    history_files      from a file to past choices; _rows, _turns: tables; _chatgpt, _archive: exports
    history_material   how the responses of past choices stand under the library; history_past: as arrays
    history_posterior  the posterior given many choices at once
    history_lines      the lines of the checklist, weighted by their saliency (saliency)
    history_checklist  general preference, checklist, and how far to trust it
    history_source     from a file's choices to a checklist; history_words, history_command: told and printed

Arrays in, frozen dataclasses out. K criteria, R responses to each of Q queries (one an LLM, the baseline's
last), N draws of the posterior.
"""
