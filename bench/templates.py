#!/usr/bin/env python3
"""Chat templates against Python's jinja2, set up as Hugging Face does.

  bench/templates.py TEMPLATE...

TEMPLATE is a .jinja file, a folder (all *.jinja below it), or a tokenizer_config.json. Each is rendered with thirteen
conversations, six of them with tools, by `cupel render` (build/release, or CUPEL_BIN: the folder of the programs) and by
jinja2; the texts must be equal byte for byte, and where one side refuses the conversation the other has to refuse it too.
Exit code 1 otherwise. Templates that take tools, but refuse every conversation in which one is called, are named.
"""
import concurrent.futures, datetime, json, os, pathlib, subprocess, sys, tempfile

import jinja2, jinja2.ext, jinja2.nodes, jinja2.sandbox

ROOT = pathlib.Path(__file__).resolve().parents[1]
CUPEL = pathlib.Path(os.environ.get("CUPEL_BIN", ROOT / "build/release/bin")) / "cupel"
EPOCH = 1795952707  # 2026-11-29 11:45:07 UTC

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city. \"Quoted\" & <b>bold</b>",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "Name, for example M\u00fcnchen"},
        "days": {"type": "integer", "default": 1, "enum": [1, 3, 7]},
        "exact": {"type": ["boolean", "null"]}, "where": {"type": "object", "properties": {"lat": {"type": "number"}}},
        "tags": {"type": "array", "items": {"type": "string"}}}},
    "return": {"type": "object", "properties": {"celsius": {"type": "number"}}}}}
# What simple schemas have: some templates write types as Python does and know no others.
PRICE = {"type": "function", "function": {
    "name": "price", "description": "Price of \"things\" <now>", "parameters": {"type": "object", "required": ["item"], "properties": {
        "item": {"type": "string", "description": "Name of the thing"}, "count": {"type": "integer", "description": "How many"},
        "express": {"type": "boolean", "description": "Fast & dear"}}}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}}}}


def call(name, arguments, id="call00001"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def m(role, content, **more):
    return {"role": role, "content": content, **more}


QUESTION = m("user", "Weather in M\u00fcnchen?")
ORDER = {"item": "\u00c4pfel <red>", "count": 2, "express": True}
COST = m("tool", "{\"price\": \"3 & 4\"}", name="price", tool_call_id="call00001")
ANSWER = m("tool", "{\"celsius\": 3.5}", name="get_weather", tool_call_id="call00001")
CONVERSATIONS = {
    "user": dict(messages=[m("user", "Hello")]),
    "system": dict(messages=[m("system", "Be brief."), m("user", " Hi there \n"), m("assistant", "Hello!"), m("user", "Bye")]),
    "no prompt": dict(messages=[m("user", "Hi"), m("assistant", "  padded answer \n")], add_generation_prompt=False),
    "empty": dict(messages=[m("system", ""), m("user", ""), m("assistant", ""), m("user", "\n")]),
    "unicode": dict(messages=[m("system", "\u4f60\u597d \U0001F469\u200d\U0001F4BB"), m("user", "<tag> & 'q' \"d\" \\ {{ x }} {% y %} \u00e9\u0301\u2028\t"),
                              m("assistant", "<think>\nA\n</think>\n\nB\u00a0</think> <|im_end|>"), m("user", "\u0130\u00df\ufb01")]),
    "tools": dict(messages=[m("system", "Use tools."), QUESTION], tools=[WEATHER, CLOCK]),
    "tool call": dict(messages=[QUESTION, m("assistant", "", tool_calls=[call("get_weather", {"city": "M\u00fcnchen", "days": 3, "exact": None, "tags": ["a", "b\"c"], "where": {"lat": 48.1}})]),
                                ANSWER, m("assistant", "3.5 degrees"), m("user", "Thanks")], tools=[WEATHER]),
    "two calls": dict(messages=[m("system", "S"), QUESTION, m("assistant", None, tool_calls=[call("get_weather", {"city": "A"}), call("clock", {}, "call00002")]),
                                ANSWER, m("tool", "12:00", name="clock", tool_call_id="call00002")], tools=[WEATHER, CLOCK]),
    "plain tools": dict(messages=[m("system", "Sell."), m("user", "Apples?")], tools=[PRICE], functions=json.dumps([PRICE["function"]]), datetime="29 Nov 2026"),
    "plain call": dict(messages=[m("user", "Apples?"), m("assistant", "", tool_calls=[call("price", ORDER)]), COST, m("assistant", "3."), m("user", "OK")],
                       tools=[PRICE], functions=json.dumps([PRICE["function"]]), datetime="29 Nov 2026"),
    "arguments as text": dict(messages=[m("system", "Sell."), m("user", "Apples?"), m("assistant", "", tool_calls=[call("price", json.dumps(ORDER))]), COST],
                              tools=[PRICE], functions=json.dumps([PRICE["function"]]), datetime="29 Nov 2026"),
    "parts": dict(messages=[m("user", [{"type": "text", "text": "What is "}, {"type": "text", "text": "this?"}]), m("assistant", [{"type": "text", "text": "That."}]),
                            m("user", [{"type": "text", "text": "OK"}])]),
    "thinking": dict(messages=[m("user", "1+1?"), m("assistant", "2", reasoning_content="Easy.", thinking="Easy."), m("user", "2+2?")], enable_thinking=False,
                     thinking=True, reasoning_effort="high", date_string="29 Nov 2026", documents=[{"title": "T", "text": "D", "contents": "C"}]),
}
COMMON = dict(add_generation_prompt=True, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>", tools=None, documents=None)


class Generation(jinja2.ext.Extension):
    """{% generation %}: marks what the assistant said; no text of its own."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_as_it_is"), [], [], body).set_lineno(line)

    def _as_it_is(self, caller):
        return caller()


def environment():
    def refuse(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    out = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                       extensions=[Generation, jinja2.ext.loopcontrols])
    out.filters["tojson"] = tojson
    out.globals["raise_exception"] = refuse
    now = datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc)
    out.globals["strftime_now"] = now.strftime
    return out


def theirs(source, context):
    try:
        return environment().from_string(source).render(**context)
    except Exception as e:  # noqa: BLE001: whatever a template does wrong
        return e


def ours(template, context):
    run = subprocess.run([CUPEL, "render", template, "--context", context], capture_output=True,
                         env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "TZ": "UTC"})
    if run.returncode not in (0, 2, 3):
        raise SystemExit(f"cupel ended with {run.returncode}: {run.stderr.decode()}")
    return run.stdout.decode() if run.returncode == 0 else RuntimeError(run.stderr.decode().strip())


def sources(paths):
    for path in map(pathlib.Path, paths):
        files = sorted(path.rglob("*.jinja")) if path.is_dir() else [path]
        for file in files:
            if file.suffix == ".jinja":
                yield str(file), file.read_text()
                continue
            found = json.loads(file.read_text()).get("chat_template", [])
            for entry in [{"name": "default", "template": found}] if isinstance(found, str) else found:
                yield f"{file}:{entry['name']}", entry["template"]


def compare(template, source, name, conversation):
    context, file = {**COMMON, **conversation}, template.with_suffix(f".{name}.json")
    file.write_text(json.dumps(context))
    want, got = theirs(source, context), ours(template, file)
    refused = isinstance(want, Exception), isinstance(got, Exception)
    if refused == (True, True):
        return "both refuse", None
    if want == got:
        return "same", None
    return "DIFFERENT", f"--- jinja2\n{want!r}\n--- cupel\n{got!r}"


def main():
    counts, bad, uncalled = {}, 0, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, (name, source) in enumerate(sources(sys.argv[1:])):
            template = pathlib.Path(folder) / f"{number}.jinja"
            template.write_text(source)
            work = [(k, pool.submit(compare, template, source, k, c)) for k, c in CONVERSATIONS.items()]
            called = False
            for key, result in work:
                outcome, detail = result.result()
                called |= outcome != "both refuse" and any("tool_calls" in x for x in CONVERSATIONS[key]["messages"])
                counts[outcome] = counts.get(outcome, 0) + 1
                if detail:
                    bad += 1
                    print(f"{name}: {key}\n{detail}\n")
            if not called and "tool" in source:
                uncalled.append(name)
        for name in uncalled:
            print(f"{name}: takes tools, and both refuse every call of one")
        print(f"{number + 1} templates, {len(CONVERSATIONS)} conversations: " + ", ".join(f"{v} {k}" for k, v in sorted(counts.items())))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main() if len(sys.argv) > 1 else __doc__)
