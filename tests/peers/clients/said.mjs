// What the agent of the server says, and how many random streams each client reads.
export const SAID = 'Let me look: "今天"\n😀 ok.';
export const THOUGHT = "Which day?";
export const RANDOM = 300;

export const base = process.argv[2];

// What comes out of a promise is awaited for a while at most.
export function within(promise, what) {
  const late = new Promise((_, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what} takes too long`)), 20_000);
    timer.unref();
  });
  return Promise.race([promise, late]);
}
