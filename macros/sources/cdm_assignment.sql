{#- How rows of MIMIC-IV come to an admission of the benchmark, as conditions over the inputs
    `candidates` and `admission_windows`. -#}

{#- One pass over a large table: what names a candidate, and what may be assigned to one. -#}
{% macro may_be_of_a_candidate() -%}
    hadm_id in (select candidates.hadm_id from candidates)
    or (
        hadm_id is null
        and subject_id in (select admission_windows.subject_id from admission_windows)
    )
{%- endmacro %}


{#- A row of the patient lies in the window of an admission; both ends count. -#}
{% macro lies_in_window(relation) -%}
    {{ relation }}.subject_id = admission_windows.subject_id
    and {{ relation }}.charttime >= admission_windows.window_start
    and {{ relation }}.charttime <= admission_windows.window_end
{%- endmacro %}
