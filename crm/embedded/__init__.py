"""The embedded CRM: a judge that runs anywhere, on stored representations of responses.

- ``model``: the judge and its weights file; ``reasons``: its verdicts in words
- ``representation``: what is stored of a response instead of its text, its relevance to the query included
- ``projection``: its product with what criteria ask for
- ``style``: the counted properties in it
- ``token_axes``: how it speaks, as heard in each of its tokens
- ``encoder``: the sentence encoder; ``minilm``: the same in ONNX Runtime, for a few short texts
- ``mixtures``: what is asked for in words that name nothing, as several concepts at once
- ``passages``: a response part by part, for wishes that one of its sentences meets
- ``counts``: what is counted exactly in it; ``evidence``: where in its text that stands
- ``concepts``: what a criterion asks for, in whatever words; ``concept_words``: how its concepts are called
- ``spelling``: its slips of the pen are mended first; ``idioms``: and its turns of phrase about length
- ``wish_decoder``: a language model that reads it, ``smollm2``: its lower layers; ``decoder_graph``: for ONNX
  Runtime; ``onnx_graph``: how graphs for it are put together; ``functions``: what is left to NumPy
- ``wish_network``: smaller networks that read it, too; ``surface``: its words and turns
- ``clauses``: what is read of its parts, put together; ``forms``: how it is taken apart
- ``known``: what the judge makes of that
- ``countable``: how well responses do under what is counted; ``limits``: amounts that a criterion names,
  ``beside_limits``: and what it asks for besides
- ``numerals``: the numbers in it; ``limit_cues``: which of them limit an amount
- ``absence``: what criteria are about and no response has
- ``reliability``: how often the judge is right, by kind of criterion
- ``guard``: holds back responses that are written for the judge
- ``validity``: the validity check, which warns of criteria that cannot be judged or contradict each other
"""
