with item_variables as (
    select * from {{ ref('item_variables') }}
),

variable_ranges as (
    select * from {{ ref('variable_ranges') }}
),

final as (
    select
        item_variables.itemid,
        variable_ranges.variable_id,
        item_variables.variable,
        item_variables.cleaning_rule,
        {{ ascii_lower('item_variables.item_label') }} as item_label
    from item_variables
    inner join variable_ranges on item_variables.variable = variable_ranges.variable
)

select * from final
