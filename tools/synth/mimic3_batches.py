"""Events as arrays, and their rendering into the columns of the three event tables."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from synth.arrays import MINUTE, Ints
from synth.mimic3_items import CHART, FIRST_METAVISION_ITEM, LAB, OUTPUT, Catalogue
from synth.mimic3_patients import Population
from synth.mimic3_values import ValuePool
from synth.writing import cells, pick, text_cells

EVENT_COLUMNS = {
    CHART: (
        *("SUBJECT_ID", "HADM_ID", "ICUSTAY_ID", "ITEMID", "CHARTTIME", "STORETIME", "CGID"),
        *("VALUE", "VALUENUM", "VALUEUOM", "WARNING", "ERROR", "RESULTSTATUS", "STOPPED"),
    ),
    LAB: (
        *("SUBJECT_ID", "HADM_ID", "ITEMID", "CHARTTIME", "VALUE", "VALUENUM", "VALUEUOM"),
        "FLAG",
    ),
    OUTPUT: (
        *("SUBJECT_ID", "HADM_ID", "ICUSTAY_ID", "CHARTTIME", "ITEMID", "VALUE", "VALUEUOM"),
        *("STORETIME", "CGID", "STOPPED", "NEWBOTTLE", "ISERROR"),
    ),
}
_CAREGIVERS = 4096


@dataclass
class Batch:
    """Events of one table, one element an event.

    `patient`, `admission` and `stay` are places in the population (-1: the cell is empty), `item`
    in the catalogue, `value` in the value pool and `unit` in the catalogue's units; `time` is in
    seconds since 1970. `round` holds mixed bits shared by what was charted together. `flag` is
    ERROR for chart events and an abnormal result for labs.
    """

    patient: Ints
    admission: Ints
    stay: Ints
    item: Ints
    time: Ints
    value: npt.NDArray[np.int32]
    unit: npt.NDArray[np.int32]
    round: npt.NDArray[np.uint64]
    flag: npt.NDArray[np.bool_]

    def take(self, places: Ints | slice) -> Batch:
        """Return the events at these places."""
        return Batch(*(getattr(self, column.name)[places] for column in fields(self)))


class Renderer:
    """Turns batches into CSV cells; holds the pools of texts that the cells are picked from."""

    def __init__(self, population: Population, catalogue: Catalogue, pool: ValuePool) -> None:
        self._subjects = cells(population.patients.subject_id)
        self._admissions = cells(population.admissions.hadm_id)
        self._stays = cells(population.stays.icustay_id)
        itemids = np.array([item.itemid for item in catalogue.items])
        self._items = cells(itemids)
        self._is_metavision = itemids >= FIRST_METAVISION_ITEM
        self._values = pool.texts()
        self._numbers = pool.numbers()
        self._units = text_cells(catalogue.units)
        self._caregivers = cells(np.arange(14_000, 14_000 + _CAREGIVERS))
        # WARNING, ERROR, RESULTSTATUS, STOPPED of a chart event: they differ between systems.
        self._chart_ends = {
            column: text_cells(texts)
            for column, texts in {
                "WARNING": ["", "", "0", "0"],
                "ERROR": ["", "1", "0", "1"],
                "STOPPED": ["NotStopd", "NotStopd", "", ""],
            }.items()
        }
        self._flags = text_cells(["", "abnormal"])

    def columns(self, table: int, batch: Batch) -> list[pa.Array]:
        """Return the cells of one table's columns, in the order of `EVENT_COLUMNS`."""
        empty = pa.nulls(len(batch.item), pa.string())
        found = {
            "SUBJECT_ID": pick(self._subjects, batch.patient),
            "HADM_ID": pick(self._admissions, batch.admission),
            "ITEMID": pick(self._items, batch.item),
            "CHARTTIME": cells(batch.time.astype("datetime64[s]")),
            "VALUE": pick(self._values, batch.value),
            "VALUEUOM": pick(self._units, batch.unit),
        }
        if table != OUTPUT:
            found["VALUENUM"] = pick(self._numbers, batch.value)
        if table == LAB:
            found["FLAG"] = pick(self._flags, batch.flag.astype(np.int32))
        else:
            # What was charted together was stored together, 2 to 65 minutes later.
            delay = ((batch.round & np.uint64(63)) + np.uint64(2)).astype(np.int64) * MINUTE
            caregiver = (batch.round >> np.uint64(6)) % np.uint64(_CAREGIVERS)
            found["ICUSTAY_ID"] = pick(self._stays, batch.stay)
            found["STORETIME"] = cells((batch.time + delay).astype("datetime64[s]"))
            found["CGID"] = pick(self._caregivers, caregiver.astype(np.int32))
        if table == CHART:
            kind = self._is_metavision[batch.item].astype(np.int32) * 2 + batch.flag
            found |= {column: pick(texts, kind) for column, texts in self._chart_ends.items()}
        return [found.get(column, empty) for column in EVENT_COLUMNS[table]]
