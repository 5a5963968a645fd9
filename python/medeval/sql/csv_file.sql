-- A file of CSV as text. No sniffing: the sniffer takes a file for unquoted whose first quoted cell
-- is past its sample. Quoted empty cells stay apart from nothing; staging treats both as missing. A
-- folder called `a=b` is no column. A row with a note may be longer than DuckDB's two million bytes.
read_csv(
    {file},
    auto_detect = false,
    header = true,
    columns = {{{types}}},
    compression = '{compression}',
    delim = ',',
    quote = '"',
    escape = '"',
    nullstr = '',
    allow_quoted_nulls = false,
    strict_mode = true,
    hive_partitioning = false{longest}
)
