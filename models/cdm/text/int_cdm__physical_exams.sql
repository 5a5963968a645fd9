with exams as (
    select * from {{ ref('int_cdm__first_exams') }}
),

patterns as (
    select * from {{ ref('int_cdm__scrub_patterns') }}
),

-- Labels of the exam itself, and the white space behind them. Neighbours ("PE: Physical Exam:") go
-- together, since the second one has no sign of its own before it.
unlabelled_exams as {{ materialized() }} (
    select
        hadm_id,
        case
            when position(':' in exam) = 0 then exam
            else {{ trimmed(replace_all_in_any_case(
                'exam',
                "'(^|[^" ~ word_characters() ~ "])((pe|" ~ any_case('physical')
                ~ "[' || " ~ white_space() ~ " || ']+" ~ any_case('exam(ination)?') ~ ")[' || "
                ~ white_space() ~ " || ']*:[' || " ~ white_space() ~ " || ']*)+'",
                "'\\1'"
            )) }}
        end as exam
    from exams
),

exams_without_review as {{ materialized() }} (
    select
        hadm_id,
        {{ trimmed(
            "replace(exam, '10 system review negative, except as stated above in HPI.', '')"
        ) }} as exam
    from unlabelled_exams
),

-- Another way to mask: five x or more.
masked_exams as {{ materialized() }} (
    select
        hadm_id,
        {{ replace_all('exam', "'[xX]{5,}'", "'___'") }} as exam
    from exams_without_review
),

-- Rules drawn at the ends, then what remains of a masked heading; one of each at each end.
without_opening_line as {{ materialized() }} (
    select
        hadm_id,
        case
            when {{ starts_with('exam', "'==='") }}
                then {{ trimmed("trim(leading '=' from exam)") }}
            else exam
        end as exam
    from masked_exams
),

without_closing_line as {{ materialized() }} (
    select
        hadm_id,
        case
            when right(exam, 3) = '==='
                then {{ trimmed("trim(trailing '=' from exam)") }}
            else exam
        end as exam
    from without_opening_line
),

without_opening_underscores as {{ materialized() }} (
    select
        hadm_id,
        case
            when {{ starts_with('exam', "'_____'") }}
                then {{ trimmed("trim(leading '_' from exam)") }}
            else exam
        end as exam
    from without_closing_line
),

without_closing_underscores as {{ materialized() }} (
    select
        hadm_id,
        case
            when right(exam, 5) = '_____'
                then {{ trimmed("trim(trailing '_' from exam)") }}
            else exam
        end as exam
    from without_opening_underscores
),

without_opening_mask as {{ materialized() }} (
    select
        hadm_id,
        case
            when {{ starts_with('exam', "'___:'") }} then {{ trimmed("substr(exam, 5)") }} else exam
        end as exam
    from without_closing_underscores
),

without_closing_mask as {{ materialized() }} (
    select
        hadm_id,
        case
            when right(exam, 4) = '___:' then {{ trimmed("left(exam, length(exam) - 4)") }}
            else exam
        end as exam
    from without_opening_mask
),

final as (
    select
        exams.hadm_id,
        {{ scrubbed('exams.exam', 'patterns') }} as physical_exams
    from without_closing_mask as exams
    left join patterns on exams.hadm_id = patterns.hadm_id
)

select * from final
