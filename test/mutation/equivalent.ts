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
  equalBefore: "Equal values were handled by a line before.",
  tie: "Only a tie is decided the other way, between values that are equal in all that is compared and shown.",
  alwaysNamed: "Only lines of the App Store come here; each has a transaction id and an event.",
  message: "The text of an error that the module catches, or that nobody reads: it is never shown.",
  opensslFirst: "OpenSSL has parsed the certificate before, and refuses one of this form.",
  failsAlike: "Without the check, the same input fails a step later, with the same result.",
  noRegex: "Without the check, a regular expression sees the text `null`, or nothing, with the same result.",
  onlyXcodeIsNamed: "Only Xcode's signer is compared by name.",
  firstOut: "The stray entry has no key, and is the first to be evicted.",
  zero: "A signature whose number is zero is none, whatever its encoding.",
  ascii: "The text is ASCII, whose bytes are the same in both encodings.",
  neverAnswered:
    "Nothing is due of a purchase that the store has not answered about, whether this is its latest answer or not.",
  noneBecomesDue:
    "Without a pending acknowledgement, no purchase of the request becomes due: the list is empty.",
  noBundle: "A stored Android purchase has no bundle, so the comparison after this one is false.",
  sameMoment: "The answer at the moment itself is the one that others are compared with.",
  sooner: "A close step after an end is never later than a day after it.",
  sameReason: "Where the store was not asked, the first question about these facts has the same reason.",
  sameStart: "Access begins at the signing, which is the start.",
  known: "An end that is named and known was handled by the line before.",
  falsy: "The value is only tested, and both are false.",
} as const;

type Change = readonly [line: string, from: string, to: string];

const because = (reason: string, changes: readonly Change[]): EquivalentChange[] =>
  changes.map(([line, from, to]) => ({ line, from, to, reason }));

/**
 * Changes by file that cannot be noticed, each reviewed: no input that the stores and the callers can give tells them
 * apart. `run.ts` leaves them out of the score and fails where one is noticed or gone.
 */
export const EQUIVALENT: Readonly<Record<string, readonly EquivalentChange[]>> = {
  "lib/customers/plan-customer-change.ts": [
    ...because(REASONS.fastPath, [
      ["if (samePurchase(stored, said)) return stored;", "samePurchase(stored, said)", "false"],
    ]),
    ...because(REASONS.nullIsZero, [
      [
        "({ endsAt }) => endsAt !== null && stored.verifiedAt < endsAt && endsAt <= joined.verifiedAt,",
        "endsAt !== null",
        "true",
      ],
    ]),
    ...because(REASONS.noBundle, [
      [
        'return source.store === "ios-store" && bundle !== null && bundle !== source.bundleIdentifier',
        'source.store === "ios-store"',
        "true",
      ],
    ]),
    ...because(REASONS.neverAnswered, [
      [
        "const isLatest = said.verifiedAt > 0 && said.verifiedAt >= (stored?.purchase.verifiedAt ?? 0);",
        "said.verifiedAt > 0",
        "true",
      ],
      [
        "const isLatest = said.verifiedAt > 0 && said.verifiedAt >= (stored?.purchase.verifiedAt ?? 0);",
        "said.verifiedAt > 0",
        "said.verifiedAt >= 0",
      ],
    ]),
    ...because(REASONS.noneBecomesDue, [
      ["acknowledgementDue === null", "acknowledgementDue === null", "false"],
    ]),
  ],
  "lib/customers/resolve-customer.ts": [
    ...because(REASONS.falsy, [
      ["mayTransfer: () => boolean = () => false,", "() => false", "() => undefined"],
    ]),
  ],
  "lib/entitlements/catalog.ts": [
    ...because(REASONS.fastPath, [
      [
        "return basePlanIdentifier === null && purchaseOptionIdentifier === null",
        "basePlanIdentifier === null && purchaseOptionIdentifier === null",
        "false",
      ],
    ]),
  ],
  "lib/entitlements/entitlements.ts": [
    ...because(REASONS.tie, [
      [
        "if (shown === undefined || spanOrder(span, shown) < 0) best.set(identifier, span);",
        "spanOrder(span, shown) < 0",
        "spanOrder(span, shown) <= 0",
      ],
    ]),
    ...because(REASONS.sameMoment, [
      [".filter((at) => at > moment && at < Infinity)", "at > moment", "at >= moment"],
    ]),
  ],
  "lib/entitlements/holdings.ts": [
    ...because(REASONS.falsy, [
      ["isHeld: (reference: string) => boolean = () => false,", "() => false", "() => undefined"],
    ]),
  ],
  "lib/entitlements/join.ts": [
    ...because(REASONS.typeGuard, [
      [
        ".flatMap(([, [first, ...others]]) => (first === undefined ? [] : [joinFacts(first, ...others)]));",
        "[]",
        '["Stryker was here"]',
      ],
      [
        ".flatMap(([, [first, ...others]]) => (first === undefined ? [] : [joinFacts(first, ...others)]));",
        "first === undefined",
        "false",
      ],
    ]),
    ...because(REASONS.fastPath, [
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
    ]),
    ...because(REASONS.equalBefore, [
      ["if (order !== 0) return order > 0 ? a : b;", "order > 0", "order >= 0"],
    ]),
    ...because(REASONS.tie, [
      [
        "return sameLines(a, b) || linesText(a.lines) > linesText(b.lines) ? a : b;",
        "linesText(a.lines) > linesText(b.lines)",
        "linesText(a.lines) >= linesText(b.lines)",
      ],
      ["return order <= 0 ? a : b;", "order <= 0", "order < 0"],
    ]),
    ...because(REASONS.oneFact, [
      [
        "if (others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1)",
        "others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1",
        "false",
      ],
      [
        "if (others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1)",
        "(first.selectedProducts?.length ?? 0) <= 1",
        "(first.selectedProducts?.length ?? 0) < 1",
      ],
      [
        "if (others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1)",
        "first.lines.length <= 1",
        "first.lines.length < 1",
      ],
    ]),
  ],
  "lib/entitlements/next-ask.ts": [
    ...because(REASONS.tie, [["at <= limit ? [{ at, because }] : [];", "at <= limit", "at < limit"]]),
    ...because(REASONS.nullIsZero, [
      [
        "return unseen !== null && unseen > after ? Math.min(last.endsAt, unseen) : null;",
        "unseen !== null",
        "true",
      ],
      ["...(unseen === null || unseen <= after", "unseen === null", "false"],
    ]),
    ...because(REASONS.sooner, [
      [
        'const daily = line.standing !== "entitled" && endsAt > after ? after + DAY : Infinity;',
        "endsAt > after",
        "endsAt >= after",
      ],
    ]),
    ...because(REASONS.sameReason, [["const exact = nextAsk(purchase, at - 1, true);", "true", "false"]]),
  ],
  "lib/entitlements/purchase.ts": [...because(REASONS.fastPath, [["a === b ||", "a === b", "false"]])],
  "lib/entitlements/purchase-events.ts": [
    ...because(REASONS.alwaysNamed, [
      ['const id = line.transactionIdentifier ?? "";', '""', '"Stryker was here!"'],
      ['compare(a.transactionIdentifier ?? "", b.transactionIdentifier ?? "");', '""', '"Stryker was here!"'],
    ]),
    ...because(REASONS.typeGuard, [
      ["first === undefined ? [] : [[first, ...others] as const],", "[]", '["Stryker was here"]'],
      ["first === undefined ? [] : [[first, ...others] as const],", "first === undefined", "false"],
      [
        "return revoked !== undefined && (isRefunded ? !isBoughtAnew : isRevoked(newest)) ? revoked : newest;",
        "revoked !== undefined",
        "true",
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
        "return lineText(a) >= lineText(b) ? a : b;",
        "lineText(a) >= lineText(b)",
        "lineText(a) > lineText(b)",
      ],
      [
        ": copies.reduce((a, b) => (byPurchase(a, b) > 0 ? a : b)),",
        "byPurchase(a, b) > 0",
        "byPurchase(a, b) >= 0",
      ],
      [
        "earliest: copies.reduce((a, b) => (byPurchase(a, b) <= 0 ? a : b)),",
        "byPurchase(a, b) <= 0",
        "byPurchase(a, b) < 0",
      ],
    ]),
    ...because(REASONS.fastPath, [
      ["if (copies.length === 1) return copies;", "copies.length === 1", "false"],
    ]),
  ],
  "lib/entitlements/renewal.ts": [
    ...because(REASONS.tie, [
      [
        "(compare(a.signedAt, b.signedAt) || compare(textOf(a), textOf(b))) > 0 ? a : b;",
        "(compare(a.signedAt, b.signedAt) || compare(textOf(a), textOf(b))) > 0",
        "(compare(a.signedAt, b.signedAt) || compare(textOf(a), textOf(b))) >= 0",
      ],
    ]),
  ],
  "lib/entitlements/subscription-periods.ts": [
    ...because(REASONS.nullIsZero, [
      [
        "!isMarked(period) && renewal.periodEndsAt !== null && isSameEnd(period.endsAt, renewal.periodEndsAt),",
        "renewal.periodEndsAt !== null",
        "true",
      ],
      [
        "const movedAt = replacedAt !== null && startsAt < replacedAt ? replacedAt : Infinity;",
        "replacedAt !== null",
        "true",
      ],
    ]),
    ...because(REASONS.sameStart, [
      ["line.verifiedAt < startsAt &&", "line.verifiedAt < startsAt", "line.verifiedAt <= startsAt"],
    ]),
    ...because(REASONS.typeGuard, [
      [
        "if (renewal === null || named === null || reportsFailure(renewal, named)) return null;",
        "renewal === null || named === null",
        "renewal === null && named === null",
      ],
      [
        "if (renewal === null || named === null || reportsFailure(renewal, named)) return null;",
        "renewal === null",
        "false",
      ],
      [
        "if (renewal === null || named === null || reportsFailure(renewal, named)) return null;",
        "named === null",
        "false",
      ],
    ]),
    ...because(REASONS.known, [
      [
        "({ line, endsAt, cutAt }) => line.revokedAt !== null || cutAt < endsAt || endsAt < named,",
        "endsAt < named",
        "endsAt <= named",
      ],
    ]),
  ],
  "lib/entitlements/timeline.ts": [
    ...because(REASONS.typeGuard, [["if (duration === null) continue;", "duration === null", "false"]]),
  ],
  "lib/stores/ios-store/certificates.ts": [
    ...because(REASONS.message, [
      ['if (rest.length > 2) throw new TypeError("Not an extension.");', '"Not an extension."', '""'],
      [
        'if (more.length > 0) throw new TypeError("Not one list of extensions.");',
        '"Not one list of extensions."',
        '""',
      ],
      [
        'if (value?.tag !== tag) throw new TypeError("Not of the expected ASN.1 type.");',
        '"Not of the expected ASN.1 type."',
        '""',
      ],
      [
        'if (value === undefined || more.length > 0) throw new TypeError("Not one ASN.1 value.");',
        '"Not one ASN.1 value."',
        '""',
      ],
      ['if (truth === undefined) throw new TypeError("Not a DER boolean.");', '"Not a DER boolean."', '""'],
      ['if (read.has(oid)) throw new TypeError("A duplicate extension.");', '"A duplicate extension."', '""'],
      [
        'if (critical && !UNDERSTOOD.has(oid)) throw new TypeError("An unknown critical extension.");',
        '"An unknown critical extension."',
        '""',
      ],
      [
        'if (number > 0x7f || more.length > 0) throw new TypeError("Not a path length.");',
        '"Not a path length."',
        '""',
      ],
      [
        'if (more.length > 0) throw new TypeError("Not basic constraints.");',
        '"Not basic constraints."',
        '""',
      ],
      ['throw new TypeError("Not a key usage.");', '"Not a key usage."', '""'],
      [
        'if (hex(expected(version, TAGS.version)) !== VERSION_3) throw new TypeError("Not version 3.");',
        '"Not version 3."',
        '""',
      ],
    ]),
    ...because(REASONS.opensslFirst, [
      ['if (rest.length > 2) throw new TypeError("Not an extension.");', "rest.length > 2", "false"],
      [
        'if (more.length > 0) throw new TypeError("Not one list of extensions.");',
        "more.length > 0",
        "false",
      ],
    ]),
    ...because(REASONS.failsAlike, [
      ["if (der === null) return null;", "der === null", "false"],
      [
        'if (value?.tag !== tag) throw new TypeError("Not of the expected ASN.1 type.");',
        "value?.tag",
        "value.tag",
      ],
      [
        'if (value === undefined || more.length > 0) throw new TypeError("Not one ASN.1 value.");',
        "value === undefined",
        "false",
      ],
    ]),
  ],
  "lib/stores/ios-store/der.ts": [
    ...because(REASONS.message, [
      [
        'if (digits.length !== first - LONG_LENGTH || length < fewest) throw new RangeError("Not a DER length.");',
        '"Not a DER length."',
        '""',
      ],
      [
        'if ((tag & LONG_TAG) === LONG_TAG || end > bytes.length) throw new RangeError("Not DER.");',
        '"Not DER."',
        '""',
      ],
    ]),
  ],
  "lib/stores/ios-store/chain.ts": [
    ...because(REASONS.typeGuard, [
      [
        'publicKey.asymmetricKeyType === "ec" && publicKey.asymmetricKeyDetails?.namedCurve === "prime256v1";',
        "publicKey.asymmetricKeyDetails?.namedCurve",
        "publicKey.asymmetricKeyDetails.namedCurve",
      ],
    ]),
    ...because(REASONS.failsAlike, [
      [
        'publicKey.asymmetricKeyType === "ec" && publicKey.asymmetricKeyDetails?.namedCurve === "prime256v1";',
        'publicKey.asymmetricKeyType === "ec"',
        "true",
      ],
      [
        "if (leaf && intermediate && root) return verifyAppStoreChain(leaf, intermediate, root, trust);",
        "leaf && intermediate && root",
        "true",
      ],
      [
        "if (leaf && intermediate && root) return verifyAppStoreChain(leaf, intermediate, root, trust);",
        "leaf && intermediate && root",
        "leaf && intermediate || root",
      ],
      [
        "if (leaf && intermediate && root) return verifyAppStoreChain(leaf, intermediate, root, trust);",
        "leaf && intermediate",
        "true",
      ],
      [
        "if (leaf && intermediate && root) return verifyAppStoreChain(leaf, intermediate, root, trust);",
        "leaf && intermediate",
        "leaf || intermediate",
      ],
    ]),
    ...because(REASONS.onlyXcodeIsNamed, [
      [
        'if (!trusts(trust, { signer: "app-store", anchor })) return rejected("untrusted_root");',
        '"app-store"',
        '""',
      ],
    ]),
    ...because(REASONS.firstOut, [
      ["const chains: { readonly key: string; readonly chain: Chain }[] = [];", "[]", '["Stryker was here"]'],
    ]),
  ],
  "lib/stores/ios-store/encoding.ts": [
    ...because(REASONS.failsAlike, [
      [
        "for (let index = 0; index < json.length; index += 1) {",
        "index < json.length",
        "index <= json.length",
      ],
      ['if (typeof value !== "object" || value === null) continue;', 'typeof value !== "object"', "false"],
      [
        'for (const item of inner) if (typeof item === "object") values.push(item);',
        'typeof item === "object"',
        "true",
      ],
      ['typeof value === "object" && value !== null && !Array.isArray(value);', "value !== null", "true"],
    ]),
  ],
  "lib/stores/ios-store/jws.ts": [
    ...because(REASONS.typeGuard, [
      [
        'if (header === undefined || header.length > LONGEST_HEADER) return rejected("malformed_jws");',
        "header === undefined",
        "false",
      ],
    ]),
  ],
  "lib/stores/ios-store/notification.ts": [
    ...because(REASONS.message, [
      [
        'context.issues.push({ code: "custom", message: "must have exactly one subject", input: written });',
        '{ code: "custom", message: "must have exactly one subject", input: written }',
        "{}",
      ],
      [
        'context.issues.push({ code: "custom", message: "must have exactly one subject", input: written });',
        '"custom"',
        '""',
      ],
      [
        'context.issues.push({ code: "custom", message: "must have exactly one subject", input: written });',
        '"must have exactly one subject"',
        '""',
      ],
    ]),
  ],
  "lib/stores/ios-store/purchases.ts": [
    ...because(REASONS.fastPath, [
      ["const [purchase] = said.length === 1 ? said : joinAll(said);", "said.length === 1", "false"],
      ["const mentioned = named.length === 0 ? named : joinAll(named);", "named.length === 0", "false"],
    ]),
    ...because(REASONS.typeGuard, [
      ["if (purchase === undefined) return [];", "purchase === undefined", "false"],
      ["if (purchase === undefined) return [];", "[]", '["Stryker was here"]'],
    ]),
  ],
  "lib/stores/ios-store/server-call.ts": [
    ...because(REASONS.failsAlike, [
      ["boundedText(body ?? [], LONGEST_ANSWER_BYTES);", "[]", '["Stryker was here"]'],
      ["const text = await readText(response).catch(() => null);", "() => null", "() => undefined"],
    ]),
    ...because(REASONS.typeGuard, [
      [
        'if (result.outcome === "credential-rejected" && result.status === 401) {',
        'result.outcome === "credential-rejected"',
        "true",
      ],
      [
        'const again = result.outcome === "unavailable" && result.retryAt === null && result !== malformedAnswer;',
        'result.outcome === "unavailable"',
        "true",
      ],
    ]),
  ],
  "lib/stores/ios-store/server-failure.ts": [
    ...because(REASONS.noRegex, [
      ["code: code !== null && Math.floor(code / 10_000) === status ? code : null,", "code !== null", "true"],
      ["word: word !== null && WORD.test(word) ? word : null,", "word !== null", "true"],
      ["if (header === null) return null;", "header === null", "false"],
      [
        "const forbidden = status === 403 && (code !== null || (word !== null && PERMISSION.test(word)));",
        "word !== null",
        "true",
      ],
      ["const known = code === null ? undefined : ERRORS.get(code);", "code === null", "false"],
    ]),
  ],
  "lib/stores/ios-store/server-token.ts": [
    ...because(REASONS.message, [
      [
        "super(`The key of the App Store Server API cannot be used: ${reason}.`);",
        "`The key of the App Store Server API cannot be used: ${reason}.`",
        "``",
      ],
      ['this.name = "UnusableKeyError";', '"UnusableKeyError"', '""'],
      [
        'super("The key of the App Store Server API could not be read.");',
        '"The key of the App Store Server API could not be read."',
        '""',
      ],
      ['this.name = "KeyUnavailableError";', '"KeyUnavailableError"', '""'],
    ]),
    ...because(REASONS.typeGuard, [
      [
        'if (key.asymmetricKeyDetails?.namedCurve === "prime256v1") return key;',
        "key.asymmetricKeyDetails?.namedCurve",
        "key.asymmetricKeyDetails.namedCurve",
      ],
      ["if (token === null) throw new KeyUnavailableError();", "token === null", "false"],
    ]),
    ...because(REASONS.fastPath, [
      [
        "return known?.text === text ? known : { text, key: parseKey(text) };",
        "known?.text === text",
        "false",
      ],
    ]),
  ],
  "lib/stores/ios-store/signature.ts": [
    ...because(REASONS.ascii, [
      ['Buffer.from(compact.slice(0, compact.lastIndexOf(".")), "latin1");', '"latin1"', '""'],
    ]),
    ...because(REASONS.zero, [
      [
        "while (first < number.length - 1 && number[first] === 0) first += 1;",
        "first < number.length - 1",
        "true",
      ],
      [
        "while (first < number.length - 1 && number[first] === 0) first += 1;",
        "first < number.length - 1",
        "first <= number.length - 1",
      ],
      [
        "while (first < number.length - 1 && number[first] === 0) first += 1;",
        "number.length - 1",
        "number.length + 1",
      ],
    ]),
  ],
};
