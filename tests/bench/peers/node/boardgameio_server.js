// A game of boardgame.io's with one kind of move, in memory: prints its port, ends with its input.
const { Server } = require("boardgame.io/server");

const game = {
  name: "bench",
  setup: () => ({ cells: Array(16).fill(0) }),
  turn: { minMoves: 1, maxMoves: 1 },
  moves: {
    mark: ({ G }, cell, value) => {
      G.cells[cell] = value;
    },
  },
};

Server({ games: [game], origins: ["*"] })
  .run(0)
  .then(({ appServer }) => console.log(JSON.stringify({ port: appServer.address().port })));

process.stdin.on("end", () => process.exit(0)).resume();
