{#- The events of a test before the first procedure are numbered 1, 2, 3 without a gap. -#}
{% test cdm_numbers_have_no_gap(model, columns) %}

select
    {{ columns | unique | join(', ') }},
    min(sequence_num) as first_number,
    max(sequence_num) as last_number,
    count(*) as event_count
from {{ model }}
group by {{ columns | unique | join(', ') }}
having min(sequence_num) <> 1 or max(sequence_num) <> count(*)

{% endtest %}
