-- PostgreSQL database dump

CREATE TABLE workflow_checkpoints (
id TEXT PRIMARY KEY,
workflow_id TEXT NOT NULL,
timestamp TIMESTAMPTZ DEFAULT NOW(),
layer_index INTEGER NOT NULL,
state JSONB NOT NULL,
-- state contains: { messages, tasks, decisions, context }
dag_structure JSONB NOT NULL,
execution_config JSONB NOT NULL
);
CREATE INDEX idx_checkpoints_workflow ON workflow_checkpoints(workflow_id, timestamp DESC);

INSERT INTO public.workflow_checkpoints (id, workflow_id, timestamp, layer_index, state, dag_structure, execution_config) VALUES ('7c0e8400-e29b-41d4-a716-446655440001', 'wf-dag-1', '2025-11-14 10:00:01.5+00', 1, '{"messages": [{"role": "user", "content": "it''s a \"test\"\twith\\backslash"}], "tasks": [{"taskId": "fetch", "result": {"value": "fetch"}, "timestamp": "2025-11-14T10:00:00Z", "duration": 12}], "decisions": [{"type": "AIL", "choice": "go"}], "context": {"topic": "dag"}, "checkpoint_id": "7c0e8400-e29b-41d4-a716-446655440001"}'::jsonb, '{"tasks": [{"id": "fetch", "dependsOn": []}, {"id": "parse", "dependsOn": ["fetch"]}, {"id": "report", "dependsOn": ["parse"]}]}', '{"speculation": false, "timeout": 30000}');

COPY public.workflow_checkpoints (id, workflow_id, "timestamp", layer_index, state, dag_structure, execution_config) FROM stdin;
7c0e8400-e29b-41d4-a716-446655440002	wf-dag-1	2025-11-14 10:00:02.5+00	2	{"messages": [{"role": "user", "content": "it's a \\"test\\"\\twith\\\\backslash"}], "tasks": [{"taskId": "fetch", "result": {"value": "fetch"}, "timestamp": "2025-11-14T10:00:00Z", "duration": 12}, {"taskId": "parse", "result": {"value": "parse"}, "timestamp": "2025-11-14T10:00:01Z", "duration": 12}], "decisions": [{"type": "AIL", "choice": "go"}], "context": {"topic": "dag"}, "checkpoint_id": "7c0e8400-e29b-41d4-a716-446655440002"}	{"tasks": [{"id": "fetch", "dependsOn": []}, {"id": "parse", "dependsOn": ["fetch"]}, {"id": "report", "dependsOn": ["parse"]}]}	{"speculation": false, "timeout": 30000}
\.

SELECT pg_catalog.setval('x', 1, false);
