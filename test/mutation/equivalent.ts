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
  nothing: "The value is used only where there is no pass, and then nothing is held for it.",
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
  "lib/entitlements/access.ts": [
    ...because(REASONS.fastPath, [
      [
        "return passes.length === 0 ? all : [...all.filter((one) => asPass(one) === null), ...passesInTurn(passes)];",
        "passes.length === 0",
        "false",
      ],
      [
        "return { ...pass, product: byStart.size === 1 ? product : { ...product, grants }, begins, ends };",
        "byStart.size === 1",
        "false",
      ],
    ]),
    ...because(REASONS.typeGuard, [
      [
        "asPass(access) !== null && !isRevoked(access.line) && access.ends !== null && access.ends > now",
        "access.ends !== null",
        "true",
      ],
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
  "lib/entitlements/grants.ts": [
    ...because(REASONS.nullIsZero, [
      [
        "event !== null && startsAt !== null && startsAt > (endsAt ?? Infinity) ? null : startsAt;",
        "startsAt !== null",
        "true",
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
    ...because(REASONS.typeGuard, [["if (startsAt !== null)", "startsAt !== null", "true"]]),
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
      ["if (order !== 0) return order > 0 ? a : b;", "order > 0", "order >= 0"],
    ]),
    ...because(REASONS.tie, [
      [
        "return sameLines(a, b) || linesText(a.lines) > linesText(b.lines) ? a : b;",
        "linesText(a.lines) > linesText(b.lines)",
        "linesText(a.lines) >= linesText(b.lines)",
      ],
      ["const { refundedBy, mostRefunded } = order > 0 ? b : a;", "order > 0", "order >= 0"],
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
        "counting.get(last.home)?.push({ line, isMoved });",
        "counting.get(last.home)?.push",
        "counting.get(last.home).push",
      ],
    ]),
  ],
  "lib/entitlements/purchase.ts": [...because(REASONS.fastPath, [["a === b ||", "a === b", "false"]])],
  "lib/entitlements/renewal.ts": [
    ...because(REASONS.tie, [["return order > 0 ? a : b;", "order > 0", "order >= 0"]]),
  ],
  "lib/entitlements/standing-lines.ts": [
    ...because(REASONS.fastPath, [
      ["periods.length <= 1", "periods.length <= 1", "false"],
      ["periods.length <= 1", "periods.length <= 1", "periods.length < 1"],
    ]),
    ...because(REASONS.typeGuard, [
      [
        "if (replacedAt === null || !isBeforeReplacement(purchase, line)) return line;",
        "replacedAt === null",
        "false",
      ],
      [
        "const isWhole = asDated !== undefined && line.endsAt === asDated.endsAt;",
        "asDated !== undefined",
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
    ...because(REASONS.noSuccessor, [
      [
        'if (line.nature !== "auto_renewable" || line.endsAt === null) return line;',
        "line.endsAt === null",
        "false",
      ],
    ]),
    ...because(REASONS.nullIsZero, [
      ["startsAt !== null &&", "startsAt !== null", "true"],
      [
        "(replacedAt === null || replacedAt < verifiedAt - CHARGED_AHEAD_MILLISECONDS) &&",
        "replacedAt === null",
        "false",
      ],
    ]),
  ],
  "lib/entitlements/status.ts": [
    ...because(REASONS.nullIsZero, [
      ["return willRenew === true && endsAt !== null && lastWord < endsAt;", "endsAt !== null", "true"],
    ]),
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
