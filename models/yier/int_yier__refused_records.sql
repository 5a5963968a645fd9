with records as (
    select * from {{ ref('stg_yier__records') }}
),

-- What `load yier` has found out, it writes beside the record.
refused_by_load as (
    select line_number
    from records
    where {{ json_text('record', 'refused_by_check') }} is not null
),

-- Of a file as it stands, the kinds of its values are seen here.
kinds as (
    select
        line_number,
        {{ json_kind('record', 'context') }} as context_kind,
        {{ json_kind('record', 'question') }} as question_kind,
        {{ json_kind('record', 'source') }} as source_kind,
        {{ json_kind('record', 'answer_choices') }} as answers_kind,
        {{ json_kind('record', 'predict_answers') }} as predictions_kind
    from records
),

values_of_other_kinds as (
    select line_number
    from kinds
    where
        context_kind not in ('string', 'null')
        or question_kind <> 'string'
        or source_kind not in ('string', 'number', 'null')
        or answers_kind not in ('string', 'number', 'array', 'null')
        or predictions_kind not in ('string', 'number', 'array', 'null')
),

item_kinds as (
    {% for field in ['selection', 'answer_choices', 'predict_answers'] %}
        select
            records.line_number,
            items.item_kind
        from records
        cross join {{ json_kinds('records.record', field, 'items', 'item_kind') }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

items_of_other_kinds as (
    select line_number
    from item_kinds
    where item_kind not in ('string', 'number')
),

-- The three may name a record each; it is refused once.
final as (
    select line_number from refused_by_load
    union distinct
    select line_number from values_of_other_kinds
    union distinct
    select line_number from items_of_other_kinds
)

select * from final
