import { createProgress } from "../../../operator/import/report-text.ts";

const ASKING = { phase: "asking", all: 48, differences: 1 } as const;

/** What is shown of a run that tells of each of its rows, one a second. */
const shown = (isTerminal: boolean): string[] => {
  const texts: string[] = [];
  const add = (text: string): void => void texts.push(text);
  let now = 0;
  const screen = { progress: add, terminal: isTerminal ? add : null };
  const { show, end } = createProgress(() => now, screen, new Map());
  for (let done = 0; done <= 24; done += 1, now += 1000) show({ ...ASKING, done });
  end();
  return texts;
};

test("a terminal shows a bar that overwrites itself and is cleared at the end", () => {
  const texts = shown(true);
  expect(texts).toHaveLength(25);
  expect(texts.at(-2)).toContain("[############            ] 24 of 48 rows, 1.0 rows a second");
  expect(texts.every((text) => text.startsWith("\r\u001b[K"))).toBe(true);
  expect(texts.at(-1)).toBe("\r\u001b[K");
});

test("elsewhere, a line comes every ten seconds", () => {
  expect(shown(false)).toEqual([
    expect.stringMatching(/^Asking the stores 10 of 48 rows, .* left, 1 difference so far$/),
    expect.stringMatching(/^Asking the stores 20 of 48 rows/),
  ]);
});
