-- Whatever a case shows, is chosen by or is scored against comes from these tables.
{% set cells = {
    'admissions': ['subject_id', 'hadm_id', 'admittime'],
    'd_icd_diagnoses': ['icd_code', 'icd_version', 'long_title'],
    'd_icd_procedures': ['icd_code', 'icd_version', 'long_title'],
    'd_labitems': ['itemid', 'label', 'fluid', 'category'],
    'diagnoses_icd': ['hadm_id', 'seq_num', 'icd_code', 'icd_version'],
    'discharge': [
        'note_id', 'subject_id', 'hadm_id', 'note_type', 'note_seq', 'charttime', 'text'
    ],
    'discharge_diagnosis': ['hadm_id', 'seq_num', 'title', 'is_primary'],
    'discharge_free_text': [
        'hadm_id', 'history_of_present_illness', 'past_medical_history', 'physical_examination'
    ],
    'labevents': [
        'labevent_id', 'subject_id', 'hadm_id', 'itemid', 'charttime', 'storetime', 'value',
        number_cell('valuenum'), 'valueuom', number_cell('ref_range_lower'),
        number_cell('ref_range_upper'), 'flag', 'comments'
    ],
    'microbiologyevents': [
        'microevent_id', 'subject_id', 'hadm_id', 'chartdate', 'charttime', 'storetime',
        'spec_type_desc', 'test_itemid', 'test_name', 'org_name', 'comments'
    ],
    'patients': ['subject_id', 'gender', 'anchor_age', 'anchor_year'],
    'procedures': ['hadm_id', 'seq_num', 'title', 'is_previous'],
    'procedures_icd': ['hadm_id', 'seq_num', 'chartdate', 'icd_code', 'icd_version'],
    'radiology': ['note_id', 'subject_id', 'hadm_id', 'note_type', 'charttime', 'text'],
    'radiology_detail': ['note_id', 'field_name', 'field_value', 'field_ordinal'],
    'transfers': ['subject_id', 'hadm_id', 'intime'],
} %}

with final as (
    {% for table, columns in cells.items() %}
        select
            '{{ table }}' as source_table,
            {{ row_md5(columns) }} as row_md5
        from {{ ref('stg_cdm__' ~ table) }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
)

select * from final
