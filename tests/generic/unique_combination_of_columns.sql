{#- No two rows agree in all of the columns. -#}
{% test unique_combination_of_columns(model, columns) %}

    select
        {{ columns | join(', ') }},
        count(*) as row_count
    from {{ model }}
    group by {{ columns | join(', ') }}
    having count(*) > 1

{% endtest %}
