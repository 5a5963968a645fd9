-- The notes of a folder of text files, whose class is that of the folder as a whole.
select
    split_part(filename, '/', -1) as filename,
    content as text,
    {data_class} as data_class
from read_text([{files}])
