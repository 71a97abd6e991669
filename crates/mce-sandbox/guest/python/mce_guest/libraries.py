"""The data libraries, imported once in the fork server that is for programs which use them.

What is not installed, or is broken, is left out: the program that imports it is told so. Only libraries that start no
threads may stand here, because a fork takes one thread along.
"""

import importlib

_MODULES = """
numpy numpy.linalg numpy.random pandas openpyxl httpx pydantic orjson PIL.Image PIL.PngImagePlugin matplotlib
matplotlib.backends.backend_agg matplotlib.pyplot
""".split()

# What these import or make on first use is then there already.
_REHEARSAL = {
    "pandas": """
import io
import numpy
import pandas
table = pandas.read_csv(io.StringIO("day,kind,count\\n2020-01-02,a,1\\n2020-01-03,b,2.5\\n2020-01-04,a,\\n"), parse_dates=["day"])
more = pandas.DataFrame({"kind": ["a", "b"], "name": ["x", "y"]})
table.merge(more, on="kind").sort_values("count").describe()
table.groupby("kind")["count"].agg(["sum", "mean"]).reset_index()
table.pivot_table(index="kind", values="count", aggfunc="sum")
table.set_index("day").resample("D").sum()
pandas.concat([table, table]).drop_duplicates().fillna(0).to_csv()
pandas.json_normalize([{"a": {"b": 1}}])
pandas.to_datetime(pandas.Series(["2020-01-02"])).dt.strftime("%Y")
print(table, table["count"].value_counts())
result = [table.to_json(), table.to_dict(orient="records"), table, table["count"], numpy.arange(3), table["day"].max(), pandas.NaT]
""",
    "openpyxl": """
import io
import openpyxl
book = openpyxl.Workbook()
book.active.append([1, "a"])
file = io.BytesIO()
book.save(file)
openpyxl.load_workbook(io.BytesIO(file.getvalue()))
""",
    "pydantic": """
import pydantic
class Item(pydantic.BaseModel):
    name: str
    count: int | None = None
result = Item.model_validate({"name": "a", "count": "1"})
""",
    "matplotlib": """
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2], [3, 4])
axes.set_title("a")
plt.close(figure)
result = figure
""",
}


def load():
    """Imports what is there. Returns programs to rehearse."""
    loaded = set()
    for name in _MODULES:
        try:
            importlib.import_module(name)
        except Exception:
            continue
        loaded.add(name)
    if "matplotlib" in loaded:
        # There is no screen.
        importlib.import_module("matplotlib").use("agg")
    return [source for name, source in _REHEARSAL.items() if name in loaded]
