select title
from procedures
where hadm_id = ? and coalesce(is_previous, false) = false
order by seq_num
