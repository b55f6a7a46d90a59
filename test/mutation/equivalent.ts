/** A change that no test can notice: this line, with `from` replaced by `to`, gives the same results. */
export interface EquivalentChange {
  /** Source line, trimmed. */
  readonly line: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

const REASONS = {
  fastPath: "The line takes a short way to save time; the long way gives the same result.",
  oneFact:
    "The short way for one fact. Only holdings have `further` values, which the long way leaves out; no fact has.",
  typeGuard: "The value is always there; only the type checker needs the guard.",
  nullIsZero:
    "Null counts as 0 in the comparison, and a time is never below 0, so the result is that of the guard.",
  noSuccessor: "A period without an end has no successor: `takesPlaceOf` is false for it in any case.",
  equalBefore: "Equal values were handled by a line before.",
  tie: "Only a tie is decided the other way, between values that are equal in all that is compared and shown.",
  sortedLater: "Only the order differs, and the result is sorted later.",
  alwaysNamed: "Only lines of the App Store come here; each has a transaction id and an event.",
  onceInLineage: "Within one lineage there is one copy of each transaction id, so the two lineages differ.",
  refundKnown: "A line without `refundedBy` has a `mostRefunded` of 0, so it is never the larger refund.",
  nothing: "The value is used only where there is no pass, and then nothing is held for it.",
  keyText: "The text is a part of keys that stay in the module; no identifier has an exclamation mark.",
} as const;

type Change = readonly [line: string, from: string, to: string];

const because = (reason: string, changes: readonly Change[]): EquivalentChange[] =>
  changes.map(([line, from, to]) => ({ line, from, to, reason }));

/**
 * Changes by file that cannot be noticed, each reviewed: no input that the stores and the callers can give tells them
 * apart. `run.ts` leaves them out of the score and fails where one is noticed or gone.
 */
export const EQUIVALENT: Readonly<Record<string, readonly EquivalentChange[]>> = {
  "lib/entitlements/catalog.ts": [
    ...because(REASONS.fastPath, [
      [
        "return basePlanIdentifier === null && purchaseOptionIdentifier === null",
        "basePlanIdentifier === null && purchaseOptionIdentifier === null",
        "false",
      ],
    ]),
    ...because(REASONS.keyText, [
      [
        '`${store} ${productIdentifier.length} ${productIdentifier} ${basePlanIdentifier ?? ""} ${purchaseOptionIdentifier === null ? "" : `option ${purchaseOptionIdentifier}`}`;',
        '""',
        '"Stryker was here!"',
      ],
    ]),
  ],
  "lib/entitlements/entitlements.ts": [
    ...because(REASONS.fastPath, [
      ["periods.length <= 1", "periods.length <= 1", "false"],
      ["periods.length <= 1", "periods.length <= 1", "periods.length < 1"],
      [
        "passes.length === 0 ? all : [...all.filter((one) => asPass(one) === null), ...passesInTurn(passes)];",
        "passes.length === 0",
        "false",
      ],
    ]),
    ...because(REASONS.typeGuard, [
      [
        "if (replacedAt === null || !isBeforeReplacement(purchase, line)) return line;",
        "replacedAt === null",
        "false",
      ],
      ["const whole = counting[index]?.line;", "counting[index]?.line", "counting[index].line"],
      [
        "whole !== undefined && whole === spokenOf && line.endsAt === whole.endsAt && !isSucceeded(whole, all);",
        "whole !== undefined",
        "true",
      ],
      [
        "counting.get(ofPerson(holding))?.get(purchase.key) ??",
        "counting.get(ofPerson(holding))?.get",
        "counting.get(ofPerson(holding)).get",
      ],
      [
        "return standingLines(moment, purchase, persons.get(ofPerson(holding)) ?? [], events);",
        "[]",
        '["Stryker was here"]',
      ],
    ]),
    ...because(REASONS.nullIsZero, [
      [
        "endsAt === null || graceEndsAt === null ? endsAt : Math.max(endsAt, graceEndsAt);",
        "graceEndsAt === null",
        "false",
      ],
      ["return willRenew === true && endsAt !== null && lastWord < endsAt;", "endsAt !== null", "true"],
      [
        "event !== null && startsAt !== null && startsAt > (endsAt ?? Infinity) ? null : startsAt;",
        "startsAt !== null",
        "true",
      ],
    ]),
    ...because(REASONS.noSuccessor, [
      [
        'if (line.nature !== "auto_renewable" || line.endsAt === null) return line;',
        "line.endsAt === null",
        "false",
      ],
    ]),
    ...because(REASONS.tie, [
      [
        "if (shown === undefined || grantOrder(grant, shown) < 0) best.set(identifier, grant);",
        "grantOrder(grant, shown) < 0",
        "grantOrder(grant, shown) <= 0",
      ],
    ]),
  ],
  "lib/entitlements/events.ts": [
    ...because(REASONS.fastPath, [
      ["if (copies.length === 1) return first;", "copies.length === 1", "false"],
      ["if (!isSome(copies) || copies.length === 1) return copies;", "copies.length === 1", "false"],
      [
        'if (first?.nature !== "auto_renewable" || others.every(({ endsAt }) => endsAt === first.endsAt))',
        "({ endsAt }) => endsAt === first.endsAt",
        "() => undefined",
      ],
      [
        'if (first?.nature !== "auto_renewable" || others.every(({ endsAt }) => endsAt === first.endsAt))',
        "endsAt === first.endsAt",
        "false",
      ],
      [
        "if (first !== undefined && lines.length === 1) return [{ copies: lines, line: first }];",
        "first !== undefined && lines.length === 1",
        "false",
      ],
      [
        "if (first !== undefined && lines.length === 1) return [{ copies: lines, line: first }];",
        "first !== undefined",
        "first === undefined",
      ],
    ]),
    ...because(REASONS.typeGuard, [
      [
        "if (first !== undefined && lines.length === 1) return [{ copies: lines, line: first }];",
        "first !== undefined",
        "true",
      ],
    ]),
    ...because(REASONS.equalBefore, [
      [
        "if (a.verifiedAt !== b.verifiedAt) return a.verifiedAt > b.verifiedAt ? a : b;",
        "a.verifiedAt > b.verifiedAt",
        "a.verifiedAt >= b.verifiedAt",
      ],
      [
        "const isWithin = aStart < bStart ? bEnd <= aEnd : aEnd <= bEnd;",
        "aStart < bStart",
        "aStart <= bStart",
      ],
      ["const isWithin = aStart < bStart ? bEnd <= aEnd : aEnd <= bEnd;", "bEnd <= aEnd", "bEnd < aEnd"],
      ["const isWithin = aStart < bStart ? bEnd <= aEnd : aEnd <= bEnd;", "aEnd <= bEnd", "aEnd < bEnd"],
    ]),
    ...because(REASONS.tie, [
      [
        "return lineText(a) >= lineText(b) ? a : b;",
        "lineText(a) >= lineText(b)",
        "lineText(a) > lineText(b)",
      ],
    ]),
    ...because(REASONS.alwaysNamed, [
      ['const id = line.transactionIdentifier ?? "";', '""', '"Stryker was here!"'],
      ['compare(b.transactionIdentifier ?? "", a.transactionIdentifier ?? "");', '""', '"Stryker was here!"'],
    ]),
  ],
  "lib/entitlements/holdings.ts": [
    ...because(REASONS.fastPath, [
      [
        "if (lines.length <= 1 || !lines.every(({ nature }) => ONCE.has(nature))) return purchase;",
        "lines.length <= 1",
        "false",
      ],
      [
        "if (lines.length <= 1 || !lines.every(({ nature }) => ONCE.has(nature))) return purchase;",
        "lines.length <= 1",
        "lines.length < 1",
      ],
      [
        "lines.length <= 1 ? lines : [...lines].sort((a, b) => PRECEDENCE[a.nature] - PRECEDENCE[b.nature]);",
        "lines.length <= 1",
        "false",
      ],
      [
        "lines.length <= 1 ? lines : [...lines].sort((a, b) => PRECEDENCE[a.nature] - PRECEDENCE[b.nature]);",
        "lines.length <= 1",
        "lines.length < 1",
      ],
      [
        "if (shares.length <= NEWEST_HELD_PER_PRODUCT.revoked) return shares;",
        "shares.length <= NEWEST_HELD_PER_PRODUCT.revoked",
        "false",
      ],
      [
        "if (shares.length <= NEWEST_HELD_PER_PRODUCT.revoked) return shares;",
        "shares.length <= NEWEST_HELD_PER_PRODUCT.revoked",
        "shares.length < NEWEST_HELD_PER_PRODUCT.revoked",
      ],
    ]),
    ...because(REASONS.nothing, [["let running: Share[] = [];", "[]", '["Stryker was here"]']]),
  ],
  "lib/entitlements/join.ts": [
    ...because(REASONS.fastPath, [
      ["if (copies.length <= COPIES_KEPT) return copies;", "copies.length <= COPIES_KEPT", "false"],
      [
        "if (copies.length <= COPIES_KEPT) return copies;",
        "copies.length <= COPIES_KEPT",
        "copies.length < COPIES_KEPT",
      ],
      [
        "if (first !== undefined && lines.every((line) => sameLine(line, first))) return [first];",
        "first !== undefined && lines.every((line) => sameLine(line, first))",
        "false",
      ],
      [
        "if (first !== undefined && lines.every((line) => sameLine(line, first))) return [first];",
        "(line) => sameLine(line, first)",
        "() => undefined",
      ],
      [
        "return refundedBy === line.refundedBy && mostRefunded === line.mostRefunded",
        "refundedBy === line.refundedBy && mostRefunded === line.mostRefunded",
        "false",
      ],
    ]),
    ...because(REASONS.oneFact, [
      [
        "if (others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1)",
        "others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1",
        "false",
      ],
      [
        "if (others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1)",
        "first.lines.length <= 1",
        "first.lines.length < 1",
      ],
      [
        "if (others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1)",
        "(first.selectedProducts?.length ?? 0) <= 1",
        "(first.selectedProducts?.length ?? 0) < 1",
      ],
    ]),
    ...because(REASONS.typeGuard, [
      [
        ".flatMap(([, [first, ...others]]) => (first === undefined ? [] : [joinFacts(first, ...others)]));",
        "first === undefined",
        "false",
      ],
      [
        ".flatMap(([, [first, ...others]]) => (first === undefined ? [] : [joinFacts(first, ...others)]));",
        "[]",
        '["Stryker was here"]',
      ],
    ]),
    ...because(REASONS.equalBefore, [
      [
        "if (a.verifiedAt !== b.verifiedAt) return a.verifiedAt > b.verifiedAt ? a : b;",
        "a.verifiedAt > b.verifiedAt",
        "a.verifiedAt >= b.verifiedAt",
      ],
    ]),
    ...because(REASONS.tie, [
      [
        "return sameLines(a, b) || linesText(a.lines) > linesText(b.lines) ? a : b;",
        "linesText(a.lines) > linesText(b.lines)",
        "linesText(a.lines) >= linesText(b.lines)",
      ],
      ["return order > 0 ? b : a;", "order > 0", "order >= 0"],
      ["return order <= 0 ? a : b;", "order <= 0", "order < 0"],
    ]),
    ...because(REASONS.sortedLater, [
      [
        "const [first, ...others] = newest.filter(({ revokedSince }) => (revokedSince !== null) === refunded);",
        "(revokedSince !== null) === refunded",
        "revokedSince !== null !== refunded",
      ],
      [
        "const [first, ...others] = newest.filter(({ revokedSince }) => (revokedSince !== null) === refunded);",
        "revokedSince !== null",
        "revokedSince === null",
      ],
    ]),
    ...because(REASONS.refundKnown, [
      ["if (line.refundedBy === null) continue;", "line.refundedBy === null", "false"],
    ]),
  ],
  "lib/entitlements/lineages.ts": [
    ...because(REASONS.fastPath, [
      [
        "[line.transactionIdentifier, ...(isWebOrder(line) ? [eventName(line)] : [])].some((name) => {",
        "[]",
        '["Stryker was here"]',
      ],
      ["return known !== undefined && known !== key;", "known !== undefined && known !== key", "true"],
      [
        "return known !== undefined && known !== key;",
        "known !== undefined && known !== key",
        "known !== undefined || known !== key",
      ],
      ["return known !== undefined && known !== key;", "known !== undefined", "true"],
      ["return known !== undefined && known !== key;", "known !== undefined", "known === undefined"],
      ["return known !== undefined && known !== key;", "known !== key", "true"],
      [
        "if (lineages.length < 2 || !mayShareEvents(lineages))",
        "lineages.length < 2 || !mayShareEvents(lineages)",
        "false",
      ],
      [
        "if (lineages.length < 2 || !mayShareEvents(lineages))",
        "lineages.length < 2 || !mayShareEvents(lineages)",
        "lineages.length < 2 && !mayShareEvents(lineages)",
      ],
      ["if (lineages.length < 2 || !mayShareEvents(lineages))", "lineages.length < 2", "false"],
    ]),
    ...because(REASONS.alwaysNamed, [
      [
        'nature === "auto_renewable" && event?.startsWith("until ") === false;',
        "event?.startsWith",
        "event.startsWith",
      ],
      ['const known = seen.get(name ?? "");', '""', '"Stryker was here!"'],
      ['seen.set(name ?? "", known ?? key);', '""', '"Stryker was here!"'],
      ['const id = line.transactionIdentifier ?? "";', '""', '"Stryker was here!"'],
    ]),
    ...because(REASONS.onceInLineage, [
      [
        "(line.verifiedAt === known.line.verifiedAt && key < known.home);",
        "key < known.home",
        "key <= known.home",
      ],
    ]),
    ...because(REASONS.typeGuard, [
      ["const known = copies.flatMap((copy) => byLine.get(copy) ?? []);", "[]", '["Stryker was here"]'],
      ["if (last === undefined) continue;", "last === undefined", "false"],
      [
        "counting.get(last.home)?.push({ line: upToUpgrade(line), isMoved });",
        "counting.get(last.home)?.push",
        "counting.get(last.home).push",
      ],
    ]),
  ],
  "lib/entitlements/purchase.ts": [...because(REASONS.fastPath, [["a === b ||", "a === b", "false"]])],
  "lib/entitlements/renewal.ts": [
    ...because(REASONS.tie, [["return order > 0 ? a : b;", "order > 0", "order >= 0"]]),
  ],
};
