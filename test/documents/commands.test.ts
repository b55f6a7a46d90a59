import { globSync, readFileSync } from "node:fs";

const FILES = ["README.md", ...globSync(["docs/**/*.md", "client/*.md", "infra/**/*.md"])];

/** Commands to paste, with the file that has them. */
const commands = FILES.flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(
    ([, text = ""]) => [file, text] as const,
  ),
);

// macOS's shell, zsh, takes a pasted comment for arguments, and an apostrophe in it for an open quote.
test("commands to paste have no comments", () => {
  expect(commands.length).toBeGreaterThan(30);
  const withComments = commands.flatMap(([file, text]) =>
    text
      .split("\n")
      .filter((line) => /(?:^|\s)#/.test(line))
      .map((line) => `${file}: ${line}`),
  );
  expect(withComments).toEqual([]);
});
