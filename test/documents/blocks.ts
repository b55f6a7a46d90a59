/** Blocks of code in a page, without the indentation of lists. */
export const blocksOf = (page: string, language: string): string[] =>
  [...page.matchAll(new RegExp(`^( *)\`\`\`${language}\n([^]*?)^ *\`\`\`$`, "gm"))].map(
    ([, indent = "", block = ""]) => block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
