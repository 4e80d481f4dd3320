import {
  type AttributeValue,
  BatchGetItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandOutput,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { backoffMs, type Clock, mapBounded, pagesOf, type Random, ThriceError } from '@thrice/core';
import { isNamed, mapSdkError } from '../map-sdk-error.ts';

/** The most keys of one BatchGetItem. */
const BATCH_KEYS = 100;
/** Batches of one read that are asked for at once. */
const BATCHES_AT_ONCE = 5;
/** Answers in a row without a single one of the keys asked for, before a read is given up. */
const MAX_STALLS = 8;
const STALL_BACKOFF = { baseMs: 50, capMs: 2_000 };

/** The key of an item. */
export interface ItemKey {
  readonly pk: string;
  readonly sk: string;
}

/** What an attribute may hold. */
export type Scalar = string | number;
/** Attributes by name. */
export type Attributes = Readonly<Record<string, Scalar>>;

/**
 * What has to be true of the stored item for a write to happen: it is not there, it is there, or its
 * attributes equal these.
 */
export type Condition = 'absent' | 'present' | Attributes;

/** A change of one item. */
export interface Change {
  readonly set?: Attributes;
  /** Numbers to add; an attribute that is absent counts as 0. */
  readonly add?: Readonly<Record<string, number>>;
  readonly remove?: readonly string[];
}

/** What the table's classes are made of. */
export interface TableInit {
  /** Its retries stay on: they wait out throttling. */
  readonly client: DynamoDBClient;
  readonly tableName: string;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * One DynamoDB table with string keys `pk` and `sk` whose items hold strings and numbers.
 *
 * Reads are consistent. A write under a condition may be refused although this very call has changed
 * the item: the SDK sends a request again whose answer was lost. Callers tell by a token in the item.
 */
export class DynamoTable {
  readonly #client: DynamoDBClient;
  readonly #tableName: string;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor({ client, tableName, clock, random }: TableInit) {
    this.#client = client;
    this.#tableName = tableName;
    this.#clock = clock;
    this.#random = random;
  }

  /** The table, for messages. */
  get name(): string {
    return `table ${this.#tableName}`;
  }

  /** Writes a whole item; false when the condition did not hold. */
  async put(key: ItemKey, attributes: Attributes, when?: Condition): Promise<boolean> {
    const expression = new Expression();
    const condition = expression.condition(when);
    return await this.#write(() =>
      this.#client.send(
        new PutItemCommand({
          TableName: this.#tableName,
          Item: marshal({ ...key, ...attributes }),
          ...condition,
          ...expression.parts(),
        }),
      ),
    );
  }

  /** Changes an item, or makes it; false when the condition did not hold. */
  async update(key: ItemKey, change: Change, when?: Condition): Promise<boolean> {
    const expression = new Expression();
    const update = expression.update(change);
    const condition = expression.condition(when);
    return await this.#write(() =>
      this.#client.send(
        new UpdateItemCommand({
          TableName: this.#tableName,
          Key: marshal({ ...key }),
          UpdateExpression: update,
          ...condition,
          ...expression.parts(),
        }),
      ),
    );
  }

  /** Removes an item, if it is there; false when the condition did not hold. */
  async remove(key: ItemKey, when?: Condition): Promise<boolean> {
    const expression = new Expression();
    const condition = expression.condition(when);
    return await this.#write(() =>
      this.#client.send(
        new DeleteItemCommand({
          TableName: this.#tableName,
          Key: marshal({ ...key }),
          ...condition,
          ...expression.parts(),
        }),
      ),
    );
  }

  async get(key: ItemKey): Promise<Attributes | undefined> {
    const { Item } = await this.#guard(() =>
      this.#client.send(
        new GetItemCommand({
          TableName: this.#tableName,
          Key: marshal({ ...key }),
          ConsistentRead: true,
        }),
      ),
    );
    return Item === undefined ? undefined : unmarshal(Item);
  }

  /** The items that are there, in no order; any number of keys, none of them twice. */
  async getMany(keys: readonly ItemKey[]): Promise<readonly Attributes[]> {
    const pages = await mapBounded(pagesOf(keys, BATCH_KEYS), BATCHES_AT_ONCE, (page) =>
      this.#getPage(page),
    );
    return pages.flat();
  }

  async #getPage(keys: readonly ItemKey[]): Promise<readonly Attributes[]> {
    const found: Attributes[] = [];
    let pending = keys.map((key) => marshal({ ...key }));
    let stallCount = 0;
    while (pending.length > 0) {
      const { Responses, UnprocessedKeys } = await this.#guard(() =>
        this.#client.send(
          new BatchGetItemCommand({
            RequestItems: { [this.#tableName]: { Keys: pending, ConsistentRead: true } },
          }),
        ),
      );
      found.push(...(Responses?.[this.#tableName] ?? []).map(unmarshal));
      const left = UnprocessedKeys?.[this.#tableName]?.Keys ?? [];
      stallCount = left.length < pending.length ? 0 : stallCount + 1;
      pending = left;
      if (left.length > 0) await this.#backOff(stallCount);
    }
    return found;
  }

  async #backOff(stallCount: number): Promise<void> {
    if (stallCount >= MAX_STALLS) {
      throw new ThriceError({
        code: 'store-unavailable',
        message: `${this.name}: it serves no reads for now; try again, nothing is lost`,
      });
    }
    const failureCount = Math.max(1, stallCount);
    await this.#clock.sleep(backoffMs(failureCount, { ...STALL_BACKOFF, random: this.#random }));
  }

  /** The items of a partition whose sort keys begin with a prefix, in the order of the sort keys. */
  async *query(
    pk: string,
    { prefix, isDescending = false }: { readonly prefix?: string; readonly isDescending?: boolean },
  ): AsyncIterable<Attributes> {
    let startKey: Record<string, AttributeValue> | undefined;
    do {
      const page: QueryCommandOutput = await this.#guard(() =>
        this.#client.send(
          new QueryCommand({
            TableName: this.#tableName,
            KeyConditionExpression:
              prefix === undefined ? '#p = :p' : '#p = :p AND begins_with(#s, :s)',
            ExpressionAttributeNames: { '#p': 'pk', ...(prefix !== undefined && { '#s': 'sk' }) },
            ExpressionAttributeValues: marshal({
              ':p': pk,
              ...(prefix !== undefined && { ':s': prefix }),
            }),
            ScanIndexForward: !isDescending,
            ConsistentRead: true,
            ExclusiveStartKey: startKey,
          }),
        ),
      );
      yield* (page.Items ?? []).map(unmarshal);
      startKey = page.LastEvaluatedKey;
    } while (startKey !== undefined);
  }

  async #write(send: () => Promise<unknown>): Promise<boolean> {
    try {
      await send();
      return true;
    } catch (error) {
      if (isNamed(error, 'ConditionalCheckFailedException')) return false;
      throw mapSdkError(error, this.name);
    }
  }

  async #guard<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      throw mapSdkError(error, this.name);
    }
  }
}

/** Builds expressions; every name and value gets a placeholder, so no reserved word can clash. */
class Expression {
  readonly #names: Record<string, string> = {};
  readonly #values: Record<string, Scalar> = {};

  update({ set = {}, add = {}, remove = [] }: Change): string {
    const clauses = [
      clause(
        'SET',
        this.#pairs(set, (name, value) => `${name} = ${value}`),
      ),
      clause(
        'ADD',
        this.#pairs(add, (name, value) => `${name} ${value}`),
      ),
      clause(
        'REMOVE',
        remove.map((name) => this.#name(name)),
      ),
    ];
    return clauses.join(' ').trim();
  }

  condition(when: Condition | undefined): { readonly ConditionExpression?: string } {
    if (when === undefined) return {};
    if (when === 'absent')
      return { ConditionExpression: `attribute_not_exists(${this.#name('pk')})` };
    if (when === 'present') return { ConditionExpression: `attribute_exists(${this.#name('pk')})` };
    const equal = this.#pairs(when, (name, value) => `${name} = ${value}`);
    return { ConditionExpression: equal.join(' AND ') };
  }

  /** The placeholders used so far. */
  parts(): {
    readonly ExpressionAttributeNames?: Record<string, string>;
    readonly ExpressionAttributeValues?: Record<string, AttributeValue>;
  } {
    return {
      ...(Object.keys(this.#names).length > 0 && { ExpressionAttributeNames: this.#names }),
      ...(Object.keys(this.#values).length > 0 && {
        ExpressionAttributeValues: marshal(this.#values),
      }),
    };
  }

  #pairs(attributes: Attributes, join: (name: string, value: string) => string): readonly string[] {
    return Object.entries(attributes).map(([name, value]) => {
      const placeholder = `:v${Object.keys(this.#values).length}`;
      this.#values[placeholder] = value;
      return join(this.#name(name), placeholder);
    });
  }

  #name(name: string): string {
    this.#names[`#${name}`] = name;
    return `#${name}`;
  }
}

function clause(verb: string, parts: readonly string[]): string {
  return parts.length === 0 ? '' : `${verb} ${parts.join(', ')} `;
}

function marshal(attributes: Attributes): Record<string, AttributeValue> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' ? { S: value } : { N: String(value) },
    ]),
  );
}

/** Other types than ours are left out: no item of ours has them. */
function unmarshal(item: Readonly<Record<string, AttributeValue>>): Attributes {
  return Object.fromEntries(
    Object.entries(item).flatMap(([name, { S, N }]): [string, Scalar][] => {
      if (S !== undefined) return [[name, S]];
      return N === undefined ? [] : [[name, Number(N)]];
    }),
  );
}
