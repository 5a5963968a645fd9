with notes as (
    select * from {{ ref('stg_mtsamples__notes') }}
),

build_settings as (
    select * from {{ ref('mtsamples_build_settings') }}
),

open_data as (
    select * from {{ ref('mtsamples_open_data') }}
),

notes_that_say_so as (
    select count(*) as note_count
    from notes
    where data_class = 'open'
),

-- Open only as a whole: the notes of an open source, or each of them says so itself.
final as (
    select
        build_settings.note_count,
        build_settings.notes_md5,
        open_data.edition,
        case
            when open_data.edition is not null then 'open'
            when
                build_settings.note_count > 0
                and build_settings.note_count = notes_that_say_so.note_count
                then 'open'
            else 'credentialed'
        end as data_class
    from build_settings
    cross join notes_that_say_so
    left join open_data on build_settings.notes_md5 = open_data.notes_md5
)

select * from final
