import { isCollection, isMap, isScalar, isSeq, LineCounter, parseDocument, visit, type Document } from "yaml";

export type YamlPath = readonly PropertyKey[];

export interface ManifestProblem {
  /** Line of the YAML text, from 1: of the value, or of the node that lacks it. */
  readonly line: number;
  /** Such as `products[2].grants`; empty for the whole file. */
  readonly path: string;
  readonly message: string;
}

export interface Invalid {
  readonly outcome: "invalid";
  readonly problems: readonly ManifestProblem[];
}

/** @param problems in any order */
export const invalid = (problems: readonly ManifestProblem[]): Invalid => ({
  outcome: "invalid",
  problems: problems.toSorted((a, b) => a.line - b.line),
});

const offsetOf = (yaml: Document.Parsed, path: YamlPath): number => {
  let node: unknown = yaml.contents;
  let offset = yaml.contents?.range[0] ?? 0;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (pair === undefined) break;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      if (isCollection(node) || isScalar(node)) offset = node.range?.[0] ?? offset;
    } else break;
  }
  return offset;
};

/** After a colon the parser quotes its input, which may be part of a pasted secret. */
const withoutSource = (message: string): string => message.split(": ", 1)[0] ?? "";

/** YAML features that a manifest does not need and that are easily misread. */
const unusualNodes = (yaml: Document.Parsed): { readonly offset: number; readonly message: string }[] => {
  const found: { offset: number; message: string }[] = [];
  visit(yaml, {
    Alias: (_, node) =>
      void found.push({
        offset: node.range?.[0] ?? 0,
        message: "An alias is not supported: write the value out.",
      }),
    Pair: (_, { key }) => {
      if (isScalar(key) && key.value !== "__proto__" && key.value !== null) return;
      const offset = isScalar(key) || isCollection(key) ? (key.range?.[0] ?? 0) : 0;
      found.push({ offset, message: "A key must be plain text." });
    },
  });
  return found;
};

/** Reads YAML as plain data. No message quotes the text. */
export const readYaml = (text: string) => {
  const lines = new LineCounter();
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const malformed = [
    ...[...yaml.errors, ...yaml.warnings].map(({ pos, message }) => ({
      offset: pos[0],
      message: withoutSource(message),
    })),
    ...unusualNodes(yaml),
  ];
  if (malformed.length > 0)
    return invalid(malformed.map(({ offset, message }) => ({ line: lineAt(offset), path: "", message })));
  return {
    outcome: "read" as const,
    data: yaml.toJS() as unknown,
    /** Line, from 1, of the node at the path, or of its nearest existing ancestor. */
    lineOf: (path: YamlPath): number => lineAt(offsetOf(yaml, path)),
  };
};
