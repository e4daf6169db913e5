"""Names of tensors in files that fairseq-signals wrote, as `CheckpointSource` wants them."""

from __future__ import annotations

PRETRAINING_PARTS = r"mask_emb|quantizer\..*|project_q\..*|final_proj\..*"
"""A pattern for what a wav2vec 2.0 is trained with and an embedding does without."""

WAV2VEC2_NAMES: tuple[tuple[str, str], ...] = (
    (r"^feature_extractor\.conv_layers\.(\d+)\.0\.", r"feature_extractor.conv_layers.\1.conv."),
    (r"^feature_extractor\.conv_layers\.0\.2\.", "feature_extractor.conv_layers.0.layer_norm."),
    (r"^layer_norm\.", "feature_projection.layer_norm."),
    (r"^post_extract_proj\.", "feature_projection.projection."),
    (r"^conv_pos\.pos_conv\.0\.", "encoder.pos_conv_embed.conv."),
    # The two spellings of torch's weight norm: by hooks until 2.0, by parametrization since.
    (r"\.weight_g$", ".parametrizations.weight.original0"),
    (r"\.weight_v$", ".parametrizations.weight.original1"),
    (r"\.self_attn\.", ".attention."),
    (r"\.self_attn_layer_norm\.", ".layer_norm."),
    (r"\.fc1\.", ".feed_forward.intermediate_dense."),
    (r"\.fc2\.", ".feed_forward.output_dense."),
)
"""From fairseq's names of a wav2vec 2.0 to those of `transformers.Wav2Vec2Model`."""
