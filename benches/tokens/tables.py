"""The tables of the README, of what was counted."""


def print_tables(facts, rows):
    for fact in facts:
        fixed = ", ".join(f"{surface} {tokens:,}" for surface, tokens in fact["fixed"].items())
        print(f"\n{fact['functions']:,} functions; tools and instructions, tokens: {fixed}; `auto` takes {fact['auto']}")
        for miss in fact["misses"]:
            print(f"  not found at once: {miss}")
        print(f"\n| {fact['catalog']} functions | " + " | ".join(surfaces(rows)) + " |\n| --- |" + " ---: |" * len(surfaces(rows)))
        for task in dict.fromkeys(row["task"] for row in rows if row["catalog"] == fact["catalog"]):
            own = [row for row in rows if row["task"] == task]
            print(f"| {task} ({own[0]['kind']}) | " + " | ".join(f"{row['total']:,} ({row['turns']})" for row in own) + " |")
    print("\n| catalog | surface | input | output | turns | calls, ms | of direct | of direct, cached |\n| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for fact in facts:
        of = {surface: [row for row in rows if row["catalog"] == fact["catalog"] and row["surface"] == surface] for surface in surfaces(rows)}
        for surface, own in of.items():
            total = {key: sum(row[key] for row in own) for key in ("input", "output", "turns", "ms", "total", "cached")}
            ratios = [100 * total[key] / sum(row[key] for row in of["direct"]) for key in ("total", "cached")]
            print(f"| {fact['catalog']} | {surface} | {total['input']:,} | {total['output']:,} | {total['turns']} | {total['ms']:,} | {ratios[0]:,.1f} % | {ratios[1]:,.1f} % |")


def surfaces(rows):
    return list(dict.fromkeys(row["surface"] for row in rows))
