-- The notes of a file of JSON Lines.
select
    json ->> 'filename' as filename,
    json ->> 'text' as text,
    json ->> 'data_class' as data_class
from read_json_objects({files}, format = 'newline_delimited', compression = '{compression}')
