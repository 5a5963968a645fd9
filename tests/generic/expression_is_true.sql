{#- The SQL condition holds for every row; a condition that is missing fails. -#}
{% test expression_is_true(model, expression) %}

    select *
    from {{ model }}
    where not coalesce({{ expression }}, false)

{% endtest %}
