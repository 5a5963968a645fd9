-- How many results of one test a case shows at most, as the published benchmark has it.
with final as (
    select 3 as results_per_test
)

select * from final
