-- The published tables of MIMIC-III, small: the names are chosen so that every order differs from
-- every other. A build may have more columns.
create schema mimic3;
create schema medeval;

create table mimic3.mimic3_in_hospital_mortality (
    stay text, subject_id integer, icustay_id integer, partition text, is_validation boolean,
    y_true integer
);
insert into mimic3.mimic3_in_hospital_mortality values
    ('731_episode1_timeseries.csv', 731, 7311, 'train', false, 1),
    ('7312_episode1_timeseries.csv', 7312, 73121, 'train', true, 0),
    ('731_episode10_timeseries.csv', 731, 7320, 'train', false, 1),
    ('731_episode2_timeseries.csv', 731, 7312, 'train', false, 1),
    ('5_episode1_timeseries.csv', 5, 51, 'test', false, 0),
    ('51_episode1_timeseries.csv', 51, 511, 'test', false, 0);

create table mimic3.mimic3_decompensation (
    stay text, subject_id integer, icustay_id integer, partition text, is_validation boolean,
    period_length double precision, y_true integer
);
insert into mimic3.mimic3_decompensation values
    ('731_episode1_timeseries.csv', 731, 7311, 'train', false, 10.0, 1),
    ('731_episode1_timeseries.csv', 731, 7311, 'train', false, 9.0, 0),
    ('731_episode1_timeseries.csv', 731, 7311, 'train', false, 5.0, 0),
    ('7312_episode1_timeseries.csv', 7312, 73121, 'train', true, 10.0, 1),
    ('7312_episode1_timeseries.csv', 7312, 73121, 'train', true, 9.0, 0),
    ('7312_episode1_timeseries.csv', 7312, 73121, 'train', true, 5.0, 0),
    ('731_episode10_timeseries.csv', 731, 7320, 'train', false, 10.0, 1),
    ('731_episode10_timeseries.csv', 731, 7320, 'train', false, 9.0, 0),
    ('731_episode10_timeseries.csv', 731, 7320, 'train', false, 5.0, 0),
    ('731_episode2_timeseries.csv', 731, 7312, 'train', false, 10.0, 1),
    ('731_episode2_timeseries.csv', 731, 7312, 'train', false, 9.0, 0),
    ('731_episode2_timeseries.csv', 731, 7312, 'train', false, 5.0, 0),
    ('5_episode1_timeseries.csv', 5, 51, 'test', false, 10.0, 1),
    ('5_episode1_timeseries.csv', 5, 51, 'test', false, 9.0, 0),
    ('5_episode1_timeseries.csv', 5, 51, 'test', false, 5.0, 0),
    ('51_episode1_timeseries.csv', 51, 511, 'test', false, 10.0, 1),
    ('51_episode1_timeseries.csv', 51, 511, 'test', false, 9.0, 0),
    ('51_episode1_timeseries.csv', 51, 511, 'test', false, 5.0, 0);

create table mimic3.mimic3_length_of_stay (
    stay text, subject_id integer, icustay_id integer, partition text, is_validation boolean,
    period_length double precision, y_true double precision
);
insert into mimic3.mimic3_length_of_stay values
    ('731_episode1_timeseries.csv', 731, 7311, 'train', false, 5.0, 0.5),
    ('731_episode1_timeseries.csv', 731, 7311, 'train', false, 6.0, -1e-07),
    ('7312_episode1_timeseries.csv', 7312, 73121, 'train', true, 5.0, 0.5),
    ('7312_episode1_timeseries.csv', 7312, 73121, 'train', true, 6.0, -1e-07),
    ('731_episode10_timeseries.csv', 731, 7320, 'train', false, 5.0, 0.5),
    ('731_episode10_timeseries.csv', 731, 7320, 'train', false, 6.0, -1e-07),
    ('731_episode2_timeseries.csv', 731, 7312, 'train', false, 5.0, 0.5),
    ('731_episode2_timeseries.csv', 731, 7312, 'train', false, 6.0, -1e-07),
    ('5_episode1_timeseries.csv', 5, 51, 'test', false, 5.0, 0.5),
    ('5_episode1_timeseries.csv', 5, 51, 'test', false, 6.0, -1e-07),
    ('51_episode1_timeseries.csv', 51, 511, 'test', false, 5.0, 0.5),
    ('51_episode1_timeseries.csv', 51, 511, 'test', false, 6.0, -1e-07);

create table mimic3.mimic3_phenotyping (
    stay text, subject_id integer, icustay_id integer, partition text, is_validation boolean,
    period_length double precision, label_1 integer, label_2 integer, label_3 integer,
    label_4 integer, label_5 integer, label_6 integer, label_7 integer, label_8 integer,
    label_9 integer, label_10 integer, label_11 integer, label_12 integer, label_13 integer,
    label_14 integer, label_15 integer, label_16 integer, label_17 integer, label_18 integer,
    label_19 integer, label_20 integer, label_21 integer, label_22 integer, label_23 integer,
    label_24 integer, label_25 integer
);
insert into mimic3.mimic3_phenotyping values
    ('731_episode1_timeseries.csv', 731, 7311, 'train', false, 6.5, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
    ('7312_episode1_timeseries.csv', 7312, 73121, 'train', true, 6.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
    ('731_episode10_timeseries.csv', 731, 7320, 'train', false, 6.5, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
    ('731_episode2_timeseries.csv', 731, 7312, 'train', false, 6.5, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
    ('5_episode1_timeseries.csv', 5, 51, 'test', false, 6.5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
    ('51_episode1_timeseries.csv', 51, 511, 'test', false, 6.5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);

create table mimic3.mimic3_multitask (
    stay text, subject_id integer, icustay_id integer, partition text, is_validation boolean,
    length_of_stay double precision, in_hospital_mortality_position integer,
    in_hospital_mortality_mask integer, in_hospital_mortality_label integer,
    first_sample_hour bigint, length_of_stay_hours bigint, decompensation_hours bigint,
    first_decompensation_hour bigint, label_1 integer, label_2 integer, label_3 integer,
    label_4 integer, label_5 integer, label_6 integer, label_7 integer, label_8 integer,
    label_9 integer, label_10 integer, label_11 integer, label_12 integer, label_13 integer,
    label_14 integer, label_15 integer, label_16 integer, label_17 integer, label_18 integer,
    label_19 integer, label_20 integer, label_21 integer, label_22 integer, label_23 integer,
    label_24 integer, label_25 integer
);
insert into mimic3.mimic3_multitask values
    ('731_episode1_timeseries.csv', 731, 7311, 'train', false, 6.5, 0, 0, 1, 5, 7, 6, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ('7312_episode1_timeseries.csv', 7312, 73121, 'train', true, 6.5, 0, 0, 1, 5, 7, 6, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ('731_episode10_timeseries.csv', 731, 7320, 'train', false, 6.5, 0, 0, 1, 5, 7, 6, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ('731_episode2_timeseries.csv', 731, 7312, 'train', false, 6.5, 0, 0, 1, 5, 7, 6, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ('51_episode1_timeseries.csv', 51, 511, 'test', false, 6.5, 0, 0, 1, 5, 7, 6, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ('5_episode1_timeseries.csv', 5, 51, 'test', false, -1.0, 47, 1, 0, 5, 0, 0, null, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

create table mimic3.mimic3_episode_timeseries (
    subject_id integer, episode integer, stay text, icustay_id integer, partition text,
    event_icustay_id integer, charttime timestamp, hours double precision,
    capillary_refill_rate double precision, diastolic_blood_pressure double precision,
    fraction_inspired_oxygen double precision, glascow_coma_scale_eye_opening double precision,
    glascow_coma_scale_motor_response double precision,
    glascow_coma_scale_total double precision,
    glascow_coma_scale_verbal_response double precision, glucose double precision,
    heart_rate double precision, height double precision, mean_blood_pressure double precision,
    oxygen_saturation double precision, respiratory_rate double precision,
    systolic_blood_pressure double precision, temperature double precision,
    weight double precision, ph double precision, glascow_coma_scale_eye_opening_text text,
    glascow_coma_scale_motor_response_text text, glascow_coma_scale_total_text text,
    glascow_coma_scale_verbal_response_text text, heart_rate_text text,
    mean_blood_pressure_text text, respiratory_rate_text text,
    is_in_hospital_mortality_input boolean, is_decompensation_input boolean,
    is_length_of_stay_input boolean, is_phenotyping_input boolean, is_multitask_input boolean
);

create table mimic3.mimic3_episodes (
    partition text, subject_id integer, episode integer, icustay_id integer,
    ethnicity_code integer, gender_code integer, age double precision, height double precision,
    weight double precision, los double precision, mortality integer, diagnosis_flags text
);
insert into mimic3.mimic3_episodes values
    ('train', 731, 1, 7311, 4, 2, 65.1, null, 80.0, 2.5, 1, '010'),
    ('test', 5, 1, 51, 0, 1, 300.25, 170.0, null, null, 0, null);

create table mimic3.episode_diagnoses (
    position integer, icd9_code text
);
insert into mimic3.episode_diagnoses values
    (3, 'V5861'),
    (1, '4019'),
    (2, '0389');

create table mimic3.mimic3_source_tables (
    source_table text, row_count bigint, edition text
);
insert into mimic3.mimic3_source_tables values
    ('patients', 100, '1.4'),
    ('icustays', 136, null);

create table mimic3.mimic3_data_class (
    data_class text, patients_md5 text, edition text
);
insert into mimic3.mimic3_data_class values
    ('open', 'abc', 'demo');

create table mimic3.phenotypes (
    phenotype_id integer, phenotype_name text, ccs_id integer
);
insert into mimic3.phenotypes values
    (25, 'Group 25; x', 1),
    (24, 'Group 24; x', 1),
    (23, 'Group 23; x', 1),
    (22, 'Group 22; x', 1),
    (21, 'Group 21; x', 1),
    (20, 'Group 20; x', 1),
    (19, 'Group 19; x', 1),
    (18, 'Group 18; x', 1),
    (17, 'Group 17; x', 1),
    (16, 'Group 16; x', 1),
    (15, 'Group 15; x', 1),
    (14, 'Group 14; x', 1),
    (13, 'Group 13; x', 1),
    (12, 'Group 12; x', 1),
    (11, 'Group 11; x', 1),
    (10, 'Group 10; x', 1),
    (9, 'Group 9; x', 1),
    (8, 'Group 8; x', 1),
    (7, 'Group 7; x', 1),
    (6, 'Group 6; x', 1),
    (5, 'Group 5; x', 1),
    (4, 'Group 4; x', 1),
    (3, 'Group 3; x', 1),
    (2, 'Group 2; x', 1),
    (1, 'First', 1),
    (null, 'No phenotype', 2);

create table medeval.builds (
    sequence_number bigint, floor text, invocation_id text, started_at text, dbt_version text,
    project_version text, target text, source_kind text, source_location text, succeeded boolean
);
insert into medeval.builds values
    (1, 'mimic3', 'run-1', '2030-01-01T00:00:00Z', '1.11.16', '0.1.0', 'duckdb', 'demo', '/data/mimic', false),
    (2, 'mimic3', 'run-2', '2030-01-01T00:00:00Z', '1.11.16', '0.1.0', 'duckdb', 'demo', '/data/mimic', true),
    (3, 'cdm', 'run-3', '2030-01-01T00:00:00Z', '1.11.16', '0.1.0', 'duckdb', 'demo', '/data/mimic', false);
insert into mimic3.mimic3_episode_timeseries (subject_id, episode, stay, partition, event_icustay_id, hours,
    glucose, heart_rate, heart_rate_text) values
    (731, 1, '731_episode1_timeseries.csv', 'train', 9, -3.5375, 217.0, null, null),
    (5, 1, '5_episode1_timeseries.csv', 'test', 1, 0.0, null, 81.0, '81');
