"""Writes a GGUF model with random weights: one layer, a vocabulary of the 256 bytes and a few words."""

import sys

import gguf
import numpy

EMBEDDING = 32
HEADS = 4
FEED_FORWARD = 64
CONTEXT = 4096
WORDS = ["▁the", "▁answer", "▁is", "▁42", "▁é", "▁中", "▁", "."]

# No model with random weights needs to know who said what.
TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"


def write_vocabulary(writer):
    special = ["<unk>", "<s>", "</s>"]
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = [*special, *pieces, *WORDS]
    types = (
        [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
        + [gguf.TokenType.BYTE] * len(pieces)
        + [gguf.TokenType.NORMAL] * len(WORDS)
    )
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * (len(special) + len(pieces)) + [-float(i) for i in range(len(WORDS))])
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    return len(tokens)


def write_weights(writer, vocabulary):
    random = numpy.random.default_rng(42)

    def add(name, *shape):
        writer.add_tensor(name, random.normal(0, 0.5, shape).astype(numpy.float32))

    add("token_embd.weight", vocabulary, EMBEDDING)
    add("output.weight", vocabulary, EMBEDDING)
    writer.add_tensor("output_norm.weight", numpy.ones(EMBEDDING, dtype=numpy.float32))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", numpy.ones(EMBEDDING, dtype=numpy.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(f"blk.0.{name}.weight", EMBEDDING, EMBEDDING)
    add("blk.0.ffn_gate.weight", FEED_FORWARD, EMBEDDING)
    add("blk.0.ffn_up.weight", FEED_FORWARD, EMBEDDING)
    add("blk.0.ffn_down.weight", EMBEDDING, FEED_FORWARD)


def main(path):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(EMBEDDING // HEADS)
    vocabulary = write_vocabulary(writer)
    writer.add_vocab_size(vocabulary)
    write_weights(writer, vocabulary)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(sys.argv[1])
