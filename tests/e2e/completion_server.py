"""A completion server over `cupel logits`, which answers as vLLM does, or as servers that are known to differ from it."""
import http.server, json, math, pathlib, tempfile, threading, time
from support import cupel_json
import tiny_model


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


class CompletionServer:
    """Use as a context; `url` is the address. Keyword arguments are the ways to differ:

    takes      "ids" (and text), or "text" alone: one prompt, no lists
    adds_bos   before every text; hides_bos: and does not list it (llama-cpp-python)
    late       log-probabilities of a place stand at the token before it (llama-cpp-python without BOS)
    echoes     False: lists the tokens that it wrote alone (llama.cpp)
    positions  max_model_len in /models, None: not said
    usage      counts tokens in its answers
    faults     a list; each request takes the first: a status, "drop", "hang", "garbage", or a function of the answer
    """

    def __init__(self, model, name="tiny", takes="ids", adds_bos=False, hides_bos=False, late=False, echoes=True, positions=256,
                 usage=True, faults=(), key=None):
        self.model, self.name, self.takes, self.adds_bos, self.hides_bos = pathlib.Path(model), name, takes, adds_bos, hides_bos
        self.late, self.echoes, self.positions, self.usage, self.key = late, echoes, positions, usage, key
        self.faults, self.requests, self.connections, self.lock = list(faults), [], 0, threading.Lock()
        self.busy = self.most_busy = 0
        vocab, bytes_of = tiny_model.vocabulary(), {c: b for b, c in tiny_model.byte_letters().items()}
        self.bos, self.end = vocab[tiny_model.BOS], vocab[tiny_model.END]
        self.pieces = {i: p.encode() if i >= self.bos else bytes(bytes_of[c] for c in p) for p, i in vocab.items()}
        self.rows = {}

    def __enter__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                outer.connections += 1

            def do_GET(self):
                outer.models(self)

            def do_POST(self):
                outer.post(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass
        self.http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    # ---- the model
    def logits(self, ids):
        """Log-softmax and argmax after each token."""
        key = tuple(ids)
        if key not in self.rows:
            text = ",".join(map(str, ids))
            out = []
            for row in cupel_json("logits", self.model, "--ids", text, "--json", "--threads", 1)["logits"]:
                top = max(row)
                total = top + math.log(math.fsum(math.exp(x - top) for x in row))
                out.append(([x - total for x in row], row.index(top)))
            self.rows[key] = out
        return self.rows[key]

    def encode(self, text):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as f:
            f.write(text)
            f.flush()
            ids = cupel_json("tokenize", self.model, "--file", f.name, "--special", "--json")["tokens"]
        return [self.bos] * self.adds_bos + ids

    def text(self, ids, special=True):
        return b"".join(self.pieces[i] for i in ids if special or i < self.bos).decode(errors="replace")

    def write(self, ids, request):
        """Greedy; ends at the end token or before a stop text."""
        stops, written = request.get("stop") or [], []
        for _ in range(request["max_tokens"]):
            token = self.logits(ids + written)[-1][1]
            if token == self.end:
                return written, "stop"
            written.append(token)
            text = self.text(written, special=False)
            ends = [text.find(s) for s in stops if s in text]
            if ends:
                return written, ("cut", min(ends))
        return written, "length"

    # ---- the protocol
    def prompts(self, prompt):
        if self.takes == "text":
            if not isinstance(prompt, str):
                raise Refused(422, "prompt: Input should be a valid string")
            return [self.encode(prompt)]
        if isinstance(prompt, str) or prompt and isinstance(prompt[0], int):
            prompt = [prompt]
        return [self.encode(p) if isinstance(p, str) else p for p in prompt]

    def choice(self, index, ids, request):
        if self.positions and len(ids) + request["max_tokens"] > self.positions:
            raise Refused(400, f"This model's maximum context length is {self.positions} tokens")
        written, finish = self.write(ids, request)
        text = self.text(written, special=False)
        if isinstance(finish, tuple):
            text, finish = text[:finish[1]], "stop"
        out = {"index": index, "text": (self.text(ids) if request.get("echo") else "") + text, "logprobs": None,
               "finish_reason": finish}
        if request.get("logprobs") is not None:
            out["logprobs"] = self.logprobs(ids, written) if self.echoes else {
                "content": [{"token": self.text([t]), "logprob": -1.0} for t in written]}
        return out, len(written)

    def logprobs(self, ids, written):
        tokens, rows = ids + written, self.logits(ids + written)
        if self.late:
            tokens = tokens[:len(ids)]
        places = range(1 if self.hides_bos and tokens[0] == self.bos else 0, len(tokens))
        out = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
        for n, i in enumerate(places):
            row = rows[i] if self.late else rows[i - 1]
            known = n > 0
            out["tokens"].append(self.text([tokens[i]]))
            out["token_logprobs"].append(row[0][tokens[i]] if known else None)
            top = {self.text([tokens[i]]): row[0][tokens[i]]}
            top[self.text([row[1]])] = row[0][row[1]]
            out["top_logprobs"].append(top if known else None)
            out["text_offset"].append(0)
        return out

    def models(self, handler):
        entry = {"id": self.name, "object": "model"}
        if self.positions:
            entry["max_model_len"] = self.positions
        self.send(handler, 200, {"object": "list", "data": [entry]})

    def post(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        request = json.loads(body)
        with self.lock:
            self.requests.append(request)
            fault = self.faults.pop(0) if self.faults else None
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
        try:
            self.answer(handler, request, fault)
        finally:
            with self.lock:
                self.busy -= 1

    def answer(self, handler, request, fault):
        if fault == "drop":
            handler.close_connection = True
            handler.connection.shutdown(2)
            return
        if fault == "hang":
            time.sleep(5)
            return
        if isinstance(fault, int):
            self.send(handler, fault, {"error": {"message": f"out of order ({fault})"}})
            return
        try:
            if self.key and handler.headers.get("Authorization") != f"Bearer {self.key}":
                raise Refused(401, "invalid API key")
            if request["model"] != self.name:
                raise Refused(404, f"The model `{request['model']}` does not exist.")
            prompts = self.prompts(request["prompt"])
            choices = [self.choice(i, ids, request) for i, ids in enumerate(prompts)]
        except Refused as e:
            self.send(handler, e.status, {"error": {"message": e.message}})
            return
        out = {"object": "text_completion", "model": self.name, "choices": [c for c, _ in reversed(choices)]}
        if self.usage:
            out["usage"] = {"prompt_tokens": sum(map(len, prompts)), "completion_tokens": sum(n for _, n in choices)}
        if callable(fault):
            out = fault(out)
        self.send(handler, 200, out, garbage=fault == "garbage")

    @staticmethod
    def send(handler, status, answer, garbage=False):
        data = b'{"choices": [' if garbage else json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
