-- 0001
CREATE TABLE benchmark (
    id SERIAL NOT NULL,
    slug TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    version TEXT NOT NULL,
    licence TEXT NOT NULL,
    attribution TEXT NOT NULL,
    source_url TEXT NOT NULL,
    text_import_command TEXT,
    bundle_digest VARCHAR(64),
    baseline_llm_id INTEGER,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_benchmark PRIMARY KEY (id),
    CONSTRAINT uq_benchmark_slug UNIQUE (slug)
);
CREATE TABLE llm (
    id SERIAL NOT NULL,
    benchmark_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    position INTEGER NOT NULL,
    note TEXT NOT NULL,
    CONSTRAINT pk_llm PRIMARY KEY (id),
    CONSTRAINT uq_llm_benchmark_id_name UNIQUE (benchmark_id, name),
    CONSTRAINT fk_llm_benchmark_id_benchmark FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE
);
CREATE INDEX ix_benchmark_baseline_llm_id ON benchmark (baseline_llm_id);
ALTER TABLE benchmark ADD CONSTRAINT fk_benchmark_baseline_llm_id_llm FOREIGN KEY(baseline_llm_id) REFERENCES llm (id) ON DELETE SET NULL;
CREATE TABLE category (
    id SERIAL NOT NULL,
    benchmark_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    CONSTRAINT pk_category PRIMARY KEY (id),
    CONSTRAINT uq_category_benchmark_id_name UNIQUE (benchmark_id, name),
    CONSTRAINT fk_category_benchmark_id_benchmark FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE
);
CREATE TABLE topic (
    id SERIAL NOT NULL,
    category_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    CONSTRAINT pk_topic PRIMARY KEY (id),
    CONSTRAINT uq_topic_category_id_name UNIQUE (category_id, name),
    CONSTRAINT fk_topic_category_id_category FOREIGN KEY(category_id) REFERENCES category (id) ON DELETE CASCADE
);
CREATE TABLE query (
    id SERIAL NOT NULL,
    benchmark_id INTEGER NOT NULL,
    topic_id INTEGER NOT NULL,
    external_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    text TEXT,
    text_sha256 VARCHAR(64) NOT NULL,
    CONSTRAINT pk_query PRIMARY KEY (id),
    CONSTRAINT uq_query_benchmark_id_external_id UNIQUE (benchmark_id, external_id),
    CONSTRAINT fk_query_benchmark_id_benchmark FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE,
    CONSTRAINT fk_query_topic_id_topic FOREIGN KEY(topic_id) REFERENCES topic (id)
);
CREATE INDEX ix_query_benchmark_id_text_sha256 ON query (benchmark_id, text_sha256);
CREATE INDEX ix_query_topic_id ON query (topic_id);
CREATE TABLE response (
    id SERIAL NOT NULL,
    query_id INTEGER NOT NULL,
    llm_id INTEGER NOT NULL,
    text TEXT NOT NULL,
    CONSTRAINT pk_response PRIMARY KEY (id),
    CONSTRAINT uq_response_query_id_llm_id UNIQUE (query_id, llm_id),
    CONSTRAINT fk_response_query_id_query FOREIGN KEY(query_id) REFERENCES query (id) ON DELETE CASCADE,
    CONSTRAINT fk_response_llm_id_llm FOREIGN KEY(llm_id) REFERENCES llm (id) ON DELETE CASCADE
);
CREATE INDEX ix_response_llm_id ON response (llm_id);
CREATE TABLE representation (
    id SERIAL NOT NULL,
    benchmark_id INTEGER NOT NULL,
    llm_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    payload BYTEA NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_representation PRIMARY KEY (id),
    CONSTRAINT uq_representation_llm_id_name UNIQUE (llm_id, name),
    CONSTRAINT fk_representation_benchmark_id_benchmark FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE,
    CONSTRAINT fk_representation_llm_id_llm FOREIGN KEY(llm_id) REFERENCES llm (id) ON DELETE CASCADE
);
CREATE INDEX ix_representation_benchmark_id ON representation (benchmark_id);
CREATE TABLE query_representation (
    id SERIAL NOT NULL,
    benchmark_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    payload BYTEA NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_query_representation PRIMARY KEY (id),
    CONSTRAINT uq_query_representation_benchmark_id_name UNIQUE (benchmark_id, name),
    CONSTRAINT fk_query_representation_benchmark_id_benchmark FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE
);
CREATE TABLE crm (
    id SERIAL NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    CONSTRAINT pk_crm PRIMARY KEY (id),
    CONSTRAINT uq_crm_name_version UNIQUE (name, version)
);
CREATE TABLE criteria_set (
    id SERIAL NOT NULL,
    key VARCHAR(64) NOT NULL,
    criteria JSON NOT NULL,
    CONSTRAINT pk_criteria_set PRIMARY KEY (id),
    CONSTRAINT uq_criteria_set_key UNIQUE (key)
);
CREATE TABLE score_matrix (
    id SERIAL NOT NULL,
    crm_id INTEGER NOT NULL,
    criteria_set_id INTEGER NOT NULL,
    benchmark_id INTEGER NOT NULL,
    llm_id INTEGER NOT NULL,
    payload BYTEA NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_score_matrix PRIMARY KEY (id),
    CONSTRAINT uq_score_matrix_crm_id_criteria_set_id_llm_id UNIQUE (crm_id, criteria_set_id, llm_id),
    CONSTRAINT fk_score_matrix_crm_id_crm FOREIGN KEY(crm_id) REFERENCES crm (id) ON DELETE CASCADE,
    CONSTRAINT fk_score_matrix_criteria_set_id_criteria_set FOREIGN KEY(criteria_set_id) REFERENCES criteria_set (id) ON DELETE CASCADE,
    CONSTRAINT fk_score_matrix_benchmark_id_benchmark FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE,
    CONSTRAINT fk_score_matrix_llm_id_llm FOREIGN KEY(llm_id) REFERENCES llm (id) ON DELETE CASCADE
);
CREATE INDEX ix_score_matrix_criteria_set_id ON score_matrix (criteria_set_id);
CREATE INDEX ix_score_matrix_benchmark_id ON score_matrix (benchmark_id);
CREATE INDEX ix_score_matrix_llm_id ON score_matrix (llm_id);
-- 0002
CREATE TABLE collected_response (
    id SERIAL NOT NULL,
    query_id INTEGER NOT NULL,
    llm_id INTEGER NOT NULL,
    status TEXT NOT NULL,
    reasoning TEXT,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    cost DOUBLE PRECISION NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT,
    settings_digest TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_collected_response PRIMARY KEY (id),
    CONSTRAINT uq_collected_response_query_id_llm_id UNIQUE (query_id, llm_id),
    CONSTRAINT fk_collected_response_query_id_query FOREIGN KEY(query_id) REFERENCES query (id) ON DELETE CASCADE,
    CONSTRAINT fk_collected_response_llm_id_llm FOREIGN KEY(llm_id) REFERENCES llm (id) ON DELETE CASCADE
);
CREATE INDEX ix_collected_response_llm_id ON collected_response (llm_id);
-- 0003
CREATE TABLE preference_set (
    id SERIAL NOT NULL,
    slug TEXT NOT NULL,
    title TEXT NOT NULL,
    source TEXT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    filter JSON NOT NULL,
    steps JSON NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_preference_set PRIMARY KEY (id),
    CONSTRAINT uq_preference_set_slug UNIQUE (slug)
);
CREATE TABLE preference (
    id SERIAL NOT NULL,
    preference_set_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    external_id TEXT NOT NULL,
    conversation_a JSON NOT NULL,
    conversation_b JSON NOT NULL,
    llm_a TEXT NOT NULL,
    llm_b TEXT NOT NULL,
    winner VARCHAR(3) NOT NULL,
    language TEXT NOT NULL,
    tags JSON NOT NULL,
    CONSTRAINT pk_preference PRIMARY KEY (id),
    CONSTRAINT uq_preference_preference_set_id_external_id UNIQUE (preference_set_id, external_id),
    CONSTRAINT uq_preference_preference_set_id_position UNIQUE (preference_set_id, position),
    CONSTRAINT fk_preference_preference_set_id_preference_set FOREIGN KEY(preference_set_id) REFERENCES preference_set (id) ON DELETE CASCADE
);
-- 0004
CREATE TABLE query_pool (
    id SERIAL NOT NULL,
    slug TEXT NOT NULL,
    title TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_query_pool PRIMARY KEY (id),
    CONSTRAINT uq_query_pool_slug UNIQUE (slug)
);
CREATE TABLE pool_query (
    id SERIAL NOT NULL,
    pool_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    text_sha256 VARCHAR(64) NOT NULL,
    origin TEXT NOT NULL,
    CONSTRAINT pk_pool_query PRIMARY KEY (id),
    CONSTRAINT uq_pool_query_pool_id_text_sha256 UNIQUE (pool_id, text_sha256),
    CONSTRAINT uq_pool_query_pool_id_position UNIQUE (pool_id, position),
    CONSTRAINT fk_pool_query_pool_id_query_pool FOREIGN KEY(pool_id) REFERENCES query_pool (id) ON DELETE CASCADE
);
CREATE TABLE text_embedding (
    encoder TEXT NOT NULL,
    text_sha256 VARCHAR(64) NOT NULL,
    vector BYTEA NOT NULL,
    CONSTRAINT pk_text_embedding PRIMARY KEY (encoder, text_sha256)
);
CREATE TABLE topic_map (
    id SERIAL NOT NULL,
    pool_id INTEGER NOT NULL,
    digest VARCHAR(64) NOT NULL,
    settings JSON NOT NULL,
    topics JSON NOT NULL,
    quality JSON NOT NULL,
    payload BYTEA NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_topic_map PRIMARY KEY (id),
    CONSTRAINT uq_topic_map_pool_id UNIQUE (pool_id),
    CONSTRAINT fk_topic_map_pool_id_query_pool FOREIGN KEY(pool_id) REFERENCES query_pool (id) ON DELETE CASCADE
);
CREATE TABLE curation_edit (
    id SERIAL NOT NULL,
    topic_map_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    action JSON NOT NULL,
    reason TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    undone_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_curation_edit PRIMARY KEY (id),
    CONSTRAINT uq_curation_edit_topic_map_id_position UNIQUE (topic_map_id, position),
    CONSTRAINT fk_curation_edit_topic_map_id_topic_map FOREIGN KEY(topic_map_id) REFERENCES topic_map (id) ON DELETE CASCADE
);
CREATE TABLE sampled_benchmark (
    benchmark_id INTEGER NOT NULL,
    family TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest VARCHAR(64) NOT NULL,
    settings JSON NOT NULL,
    counts JSON NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_sampled_benchmark PRIMARY KEY (benchmark_id),
    CONSTRAINT uq_sampled_benchmark_family_version UNIQUE (family, version),
    CONSTRAINT fk_sampled_benchmark_benchmark_id_benchmark FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE
);
-- 0005
CREATE TABLE win_rate (
    id SERIAL NOT NULL,
    benchmark_id INTEGER NOT NULL,
    crm_id INTEGER NOT NULL,
    criteria_set_id INTEGER NOT NULL,
    llm_id INTEGER NOT NULL,
    category TEXT NOT NULL,
    hard DOUBLE PRECISION NOT NULL,
    soft DOUBLE PRECISION NOT NULL,
    ci_low DOUBLE PRECISION NOT NULL,
    ci_high DOUBLE PRECISION NOT NULL,
    n_queries INTEGER NOT NULL,
    CONSTRAINT pk_win_rate PRIMARY KEY (id),
    CONSTRAINT uq_win_rate_crm_id_criteria_set_id_llm_id_category UNIQUE (crm_id, criteria_set_id, llm_id, category),
    CONSTRAINT fk_win_rate_benchmark_id_benchmark FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE,
    CONSTRAINT fk_win_rate_crm_id_crm FOREIGN KEY(crm_id) REFERENCES crm (id) ON DELETE CASCADE,
    CONSTRAINT fk_win_rate_criteria_set_id_criteria_set FOREIGN KEY(criteria_set_id) REFERENCES criteria_set (id) ON DELETE CASCADE,
    CONSTRAINT fk_win_rate_llm_id_llm FOREIGN KEY(llm_id) REFERENCES llm (id) ON DELETE CASCADE
);
CREATE INDEX ix_win_rate_benchmark_id ON win_rate (benchmark_id);
CREATE INDEX ix_win_rate_criteria_set_id ON win_rate (criteria_set_id);
CREATE INDEX ix_win_rate_llm_id ON win_rate (llm_id);
-- 0006
CREATE TABLE extracted_criteria (
    id SERIAL NOT NULL,
    preference_id INTEGER NOT NULL,
    side VARCHAR(1) NOT NULL,
    status TEXT NOT NULL,
    criteria JSON,
    first_shown VARCHAR(1) NOT NULL,
    llm TEXT NOT NULL,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    cost DOUBLE PRECISION NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT,
    settings_digest TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_extracted_criteria PRIMARY KEY (id),
    CONSTRAINT uq_extracted_criteria_preference_id_side UNIQUE (preference_id, side),
    CONSTRAINT fk_extracted_criteria_preference_id_preference FOREIGN KEY(preference_id) REFERENCES preference (id) ON DELETE CASCADE
);
CREATE TABLE criterion_theme_set (
    id SERIAL NOT NULL,
    preference_set_id INTEGER NOT NULL,
    themes JSON NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_criterion_theme_set PRIMARY KEY (id),
    CONSTRAINT uq_criterion_theme_set_preference_set_id UNIQUE (preference_set_id),
    CONSTRAINT fk_criterion_theme_set_preference_set_id_preference_set FOREIGN KEY(preference_set_id) REFERENCES preference_set (id) ON DELETE CASCADE
);
-- 0007
CREATE TABLE profile (
    id SERIAL NOT NULL,
    token_sha256 VARCHAR(64) NOT NULL,
    payload JSON NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_used_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_profile PRIMARY KEY (id),
    CONSTRAINT uq_profile_token_sha256 UNIQUE (token_sha256)
);
CREATE INDEX ix_profile_last_used_at ON profile (last_used_at);
