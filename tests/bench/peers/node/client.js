// Plays matches of two clients on a server of boardgame.io's or Colyseus': `client.js <system> <port>`.
//
// Each line that comes in is answered by one: {"open": 50} opens so many matches, {"matches": 20, "seconds": 1} plays
// the first of them, the next move of each only after both clients were told of the last one, and tells how long each
// move took from its sending until then, in ms.
const readline = require("node:readline");

const MOVES_PER_MATCH = 500;

/** Ends this process: without its server nothing more would come. */
function lost() {
  console.error("the connection to the server was lost");
  process.exit(1);
}

/** Counts who of the two was told of a move. */
class Match {
  constructor() {
    this.moves = 0;
    this.told = [];
  }

  move() {
    return new Promise((resolve) => {
      const turn = this.moves++;
      const started = performance.now();
      let missing = 2;
      this.onTold = () => {
        if (--missing === 0) resolve(performance.now() - started);
      };
      this.send(turn % 2, turn);
    });
  }
}

class BoardgameMatch extends Match {
  async open(port, number) {
    const { io } = require("socket.io-client");
    const options = { transports: ["websocket"], forceNew: true };
    this.number = number;
    this.sockets = [0, 1].map(() => io(`http://127.0.0.1:${port}/bench`, options));
    this.sockets.forEach((socket, seat) => {
      socket.on("disconnect", lost);
      socket.on("update", (_id, state) => {
        this.stateId = state._stateID;
        this.onTold();
      });
    });
    await this.renew();
  }

  async renew() {
    this.moves = 0;
    this.id = `bench-${this.number}-${Math.random()}`;
    for (const [seat, socket] of this.sockets.entries()) {
      await new Promise((resolve) => {
        socket.once("sync", (_id, { state }) => resolve((this.stateId = state._stateID)));
        socket.emit("sync", this.id, `${seat}`, undefined, 2);
      });
    }
  }

  send(seat, turn) {
    const payload = { type: "mark", args: [turn % 16, turn], playerID: `${seat}` };
    this.sockets[seat].emit("update", { type: "MAKE_MOVE", payload }, this.stateId, this.id, `${seat}`);
  }
}

class ColyseusMatch extends Match {
  async open(port) {
    const { Client } = require("@colyseus/sdk");
    const join = () => new Client(`ws://127.0.0.1:${port}`);
    const first = await join().create("bench");
    this.rooms = [first, await join().joinById(first.roomId)];
    for (const room of this.rooms) {
      room.onLeave(lost);
      room.onMessage("marked", () => this.onTold());
    }
  }

  async renew() {
    this.moves = 0;
  }

  send(seat, turn) {
    this.rooms[seat].send("mark", { cell: turn % 16, value: turn });
  }
}

const kinds = { boardgameio: BoardgameMatch, colyseus: ColyseusMatch };
const [system, port] = process.argv.slice(2);
const matches = [];

async function open(count) {
  while (matches.length < count) {
    const match = new kinds[system]();
    await match.open(port, matches.length);
    matches.push(match);
  }
  return { opened: count };
}

async function play(match, until, times) {
  while (performance.now() < until) {
    if (match.moves >= MOVES_PER_MATCH) await match.renew();
    times.push(await match.move());
  }
}

async function run(count, seconds) {
  const times = [];
  const until = performance.now() + 1000 * seconds;
  await Promise.all(matches.slice(0, count).map((match) => play(match, until, times)));
  return { milliseconds: times };
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const wanted = JSON.parse(line);
    const answer = wanted.open ? await open(wanted.open) : await run(wanted.matches, wanted.seconds);
    console.log(JSON.stringify(answer));
  }
  process.exit(0);
}

main();
