// A room of Colyseus' in which every move sets a cell of the state and is told to all: prints its port, ends
// with its input.
const http = require("node:http");
const { Server, Room } = require("@colyseus/core");
const { schema, t } = require("@colyseus/schema");
const { WebSocketTransport } = require("@colyseus/ws-transport");

const State = schema({ cells: t.array(t.number()) });

class Bench extends Room {
  maxClients = 2;

  onCreate() {
    this.state = new State();
    for (let cell = 0; cell < 16; cell++) this.state.cells.push(0);
    this.onMessage("mark", (_client, move) => {
      this.state.cells[move.cell] = move.value;
      this.broadcast("marked", move);
    });
  }
}

const server = http.createServer();
const game = new Server({ greet: false, transport: new WebSocketTransport({ server }) });
game.define("bench", Bench);
game.listen(0, "127.0.0.1").then(() => console.log(JSON.stringify({ port: server.address().port })));

process.stdin.on("end", () => process.exit(0)).resume();
