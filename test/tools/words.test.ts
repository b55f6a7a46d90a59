import { wordsOf } from "../../tools/words.ts";

test.each([
  ["prose, with `code` in it", 5],
  ["# A heading\n\n- an item\n1. another", 5],
  ["| Name | Meaning |\n| --- | --- |\n| `a` | one – two |", 5],
  ["```sh\nnpm ci\n```\n\nafter the fence", 3],
  ["[the text](docs/page.md#anchor) and https://example.com/a/b", 3],
  ['![a picture](picture.png)<br>\n\n<img src="a.png" width="10">', 0],
  ["an argument `<application>` counts", 4],
])("%j has %i words", (markdown, words) => {
  expect(wordsOf(markdown)).toBe(words);
});
