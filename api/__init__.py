"""Rankings for programs and agents: the same numbers as on the pages, over HTTP and as tools of an agent.

- `asked`: what a request asks for, as a view
- `replies`: what programs are told, as values with a schema
- `http`: the routes below ``/api/v1``; `limits`: what one client may ask for
- `agents`: the tools of an agent; `agent_replies`: what it is told
- `metrics`: figures on the server for Prometheus
- `settings`: what whoever runs the server decides
"""
