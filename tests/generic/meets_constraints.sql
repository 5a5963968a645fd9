{#- Every row of a table keeps all constraints of that table: one query for a row by itself, and one
    for each key. A failing row names what it breaks (`broken`) and shows every column that is named
    here; of a key that is not unique there is one row, with the number of its rows in the table.

    primary_key: a column, or a list of them: no two rows agree in all of them, and none is missing.
    unique: other keys, each a column, of which missing values pass, or a list of columns, of which a
        missing value is a value like any other.
    not_null: columns that are never missing.
    accepted_values: the values of each column; a missing value passes.
    accepted_range: of each column its minimum, its maximum or both, which are included unless
        `inclusive` is false; a missing value passes.
    patterns: what each column matches as a whole or in part; a missing value does not match.
    checks: conditions in SQL that hold for every row, by their names; a missing one does not hold.
    shown: columns that a failing row shows besides, those that the checks read. -#}
{% test meets_constraints(
    model, primary_key=[], unique=[], not_null=[], accepted_values={}, accepted_range={},
    patterns={}, checks={}, shown=[]
) %}

{%- set primary_key = [primary_key] if primary_key is string else primary_key -%}
{%- set keys = ([primary_key] if primary_key else []) + unique -%}
{%- set rules = [] -%}
{%- for column in primary_key + not_null -%}
    {%- do rules.append((column ~ ' is missing', column ~ ' is null')) -%}
{%- endfor -%}
{%- for column, values in accepted_values.items() -%}
    {%- set literals = [] -%}
    {%- for value in values -%}
        {%- do literals.append("'" ~ value | replace("'", "''") ~ "'" if value is string else value) -%}
    {%- endfor -%}
    {%- do rules.append((
        column ~ ' has another value', column ~ ' not in (' ~ literals | join(', ') ~ ')'
    )) -%}
{%- endfor -%}
{%- for column, bounds in accepted_range.items() -%}
    {%- set or_equal = '' if bounds.get('inclusive', true) else '=' -%}
    {%- set outside = [] -%}
    {%- for bound, sign in [('minimum', '<'), ('maximum', '>')] if bound in bounds -%}
        {%- do outside.append(column ~ ' ' ~ sign ~ or_equal ~ ' ' ~ bounds[bound]) -%}
    {%- endfor -%}
    {%- do rules.append((column ~ ' is out of range', '(' ~ outside | join(' or ') ~ ')')) -%}
{%- endfor -%}
{%- for column, pattern in patterns.items() -%}
    {%- set is_matched = 'coalesce(' ~ matches(column, "'" ~ pattern ~ "'") ~ ', false)' -%}
    {%- do rules.append((column ~ ' has another form', 'not ' ~ is_matched)) -%}
{%- endfor -%}
{%- for name, condition in checks.items() -%}
    {%- do rules.append((name ~ ' does not hold', 'not coalesce(' ~ condition ~ ', false)')) -%}
{%- endfor -%}
{%- set columns = primary_key + not_null + accepted_values | list + accepted_range | list + patterns | list
    + shown -%}
{%- for key in keys -%}
    {%- do columns.extend([key] if key is string else key) -%}
{%- endfor -%}
{%- set columns = columns | unique | list -%}

{#- This query comes first, also where it finds nothing: it gives the columns their types. -#}
select
    {% if rules -%}
        concat(
            {%- for label, broken in rules %}
            case when {{ broken }} then '{{ label }}; ' else '' end{{ ',' if not loop.last }}
            {%- endfor %}
        )
    {%- else -%}
        ''
    {%- endif %} as broken,
    cast(1 as bigint) as row_count{{ ',' if columns }}
    {{ columns | join(',\n    ') }}
from {{ model }}
where
    false
    {%- for _, broken in rules %}
    or {{ broken }}
    {%- endfor %}
{% for key in keys -%}
{%- set parts = [key] if key is string else key -%}
union all
select
    '{{ parts | join(', ') }} {{ 'is' if parts | length == 1 else 'are' }} not unique; ' as broken,
    count(*) as row_count
    {%- for column in columns %},
    {{ column if column in parts else 'null as ' ~ column }}
    {%- endfor %}
from {{ model }}
{%- if key is string %}
where {{ key }} is not null
{%- endif %}
group by {{ parts | join(', ') }}
having count(*) > 1
{% endfor %}

{% endtest %}
